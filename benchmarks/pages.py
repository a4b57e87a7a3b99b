"""README's table and the documentation's tables of figures, from records.

Whole files are written, and in README.md the lines between two comments. `pages` gives all of
them as text, so that a test can compare them with what is there.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks import charts
from benchmarks.cost_tables import COST_TABLES
from benchmarks.figures import FIGURES, README, SECTIONS
from benchmarks.figures.figure import Figure
from benchmarks.records import Records
from benchmarks.rst import list_table
from benchmarks.suites import RUNS, SUITE_OF

BEGIN = "<!-- figures: made by `sash bench --pages --docs docs` -->"
END = "<!-- end of figures -->"
INTRO = """\
All figures of the benchmarks, with their commands; :doc:`performance` has the charts and the rates
behind them. Each figure is a ratio of best times in one run, unless it has a unit; a range is from
the least to the largest of its rows. Figures vary by a fifth. A figure that has no record of its
command says "not measured". `sash bench` runs the benchmarks on your machine.
"""


def pages(found: Records, docs: Path) -> dict[Path, str]:
    """The text of every file that figures are in."""
    readme = docs.parent / "README.md"
    made = {
        readme: with_table(readme.read_text(), found),
        docs / "figures.rst": figures_page(found),
        docs / "performance.rst": charts.rst(found),
    }
    tables = {docs / "measured" / f"{name}.rst": text(found) for name, text in COST_TABLES.items()}
    return made | {path: charts.MADE + "\n" + text for path, text in tables.items()}


def write(found: Records, docs: Path) -> list[Path]:
    """Write all of them; the files that have changed."""
    changed = []
    for path, text in pages(found, docs).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed


def with_table(readme: str, found: Records) -> str:
    """README with the table between its comments made again."""
    before, _, rest = readme.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not ends:
        raise ValueError(f"README.md has no lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{readme_table(found)}{END}{after}"


def readme_table(found: Records) -> str:
    """README's table, and where it was measured."""
    chosen = [FIGURES[name] for name in README]
    lines = ["| measured | figure |", "|---|---|"]
    lines += [f"| {each.sentence} | {each.text(found)} |" for each in chosen]
    records = [found[each.record] for each in chosen if each.record in found]
    dates = " and ".join(sorted({record.machine["date"] for record in records}))
    machines = "; ".join(dict.fromkeys(record.machine_said for record in records))
    where = f"Measured on {dates} on {machines}.\n" if records else ""
    return "\n".join(lines) + "\n\n" + where


def figures_page(found: Records) -> str:
    """The documentation's page of all figures."""
    usual = usual_place(found)
    parts = [charts.MADE, "Figures\n=======\n", INTRO]
    if usual:
        parts.append(f"Measured on {usual}, unless a run says otherwise.\n")
    for section in SECTIONS:
        parts.append(f"{section.title}\n{'-' * len(section.title)}\n")
        if section.intro:
            parts.append(f"{section.intro}\n")
        names = list(dict.fromkeys(figure.record for figure in section.figures))
        parts.append(table(section.figures, names, found))
        parts.append("Runs:\n")
        parts.append("\n".join(run_line(name, found, usual) for name in names) + "\n")
    return "\n".join(parts)


def usual_place(found: Records) -> str:
    """The machine, date and version that most records have."""
    places = Counter(record.where for record in found.values())
    return places.most_common(1)[0][0] if places else ""


def run_line(name: str, found: Records, usual: str) -> str:
    """A run in a numbered list: its suite, its command, and where it ran if not as usual."""
    if name not in found:
        return f"#. `sash bench {SUITE_OF[name]}`: `{RUNS[name].command}`; not run yet"
    record = found[name]
    where = "" if record.where == usual else f"; {record.where}"
    return f"#. `sash bench {SUITE_OF[name]}`: `{record.command}`{where}"


def table(figures: list[Figure], names: list[str], found: Records) -> str:
    """A figure per row, with the number of its run."""
    rows = (
        [one.sentence, one.text(found), one.better, str(names.index(one.record) + 1)]
        for one in figures
    )
    return list_table(["measured", "figure", "better", "run"], rows, widths=(58, 28, 8, 6))
