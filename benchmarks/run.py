"""A run of a benchmark: its command at full size and a quick one, and the record that it makes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Run(NamedTuple):
    """A command at full size and a quick one, both arguments of `python -m benchmarks.`."""

    record: str  # the name of its file in benchmarks/results, without .json
    title: str
    full: str
    quick: str
    note: str = ""

    @property
    def command(self) -> str:
        """The command at full size, as a person types it."""
        return f"python -m benchmarks.{self.full}"

    @property
    def quick_command(self) -> str:
        """The quick one."""
        return f"python -m benchmarks.{self.quick}"

    def given(self, option: str) -> list[str]:
        """The values of an option of the command at full size.

        >>> Run("t", "T", "tables --rows 5000000 --windows 10 100", "tables").given("windows")
        ['10', '100']
        """
        _, found, after = self.full.partition(f" --{option} ")
        if not found:
            raise KeyError(f"{self.command} has no --{option}")
        return re.split(r" ?--", after)[0].split()

    def worded(self, text: str) -> str:
        """The text with {option} replaced by the option's values, in words.

        >>> Run("t", "T", "tables --rows 5000000", "tables").worded("{rows} rows")
        '5 million rows'
        """
        return re.sub(r"\{([a-z-]+)\}", lambda m: in_words(self.given(m[1])), text)


def in_words(values: Iterable[str]) -> str:
    """Numbers as they are read.

    >>> in_words(["1000", "100000"]), in_words(["10000000"])
    ('1,000 and 100,000', '10 million')
    """
    said = [f"{int(v) // 10**6} million" if v.endswith("000000") else f"{int(v):,}" for v in values]
    return " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))
