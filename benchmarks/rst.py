"""Tables in the documentation's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def list_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], widths: Iterable[int] = ()
) -> str:
    """A table with a line of names.

    >>> print(list_table(["keys", "s"], [["1", "0.5"]]))
    .. list-table::
       :header-rows: 1
    <BLANKLINE>
       * - keys
         - s
       * - 1
         - 0.5
    <BLANKLINE>
    """
    lines = [".. list-table::", "   :header-rows: 1"]
    if widths:
        lines.append(f"   :widths: {' '.join(map(str, widths))}")
    lines.append("")
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if number == 0 else ' '} - {cell}".rstrip())
    return "\n".join(lines) + "\n"
