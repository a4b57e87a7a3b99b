"""The pages of the papers: each figure drawn from records, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from benchmarks.papers.experiment import Check, Data, Experiment, Paper, Size
from benchmarks.papers.record import Record
from sash.report import Figure, Page, Section, Series, Table, Tile, bars, lines
from sash.report.scale import short

Records = Mapping[str, Record]  # by the name of the experiment


def chart(experiment: Experiment, data: Data) -> str:
    """Bars where x is a name, else a line per series; words where nothing was measured."""
    if not data.points:
        return "<p>Not measured at this size.</p>"
    if experiment.x.scale == "names":
        values = {f"{point.x}, {point.series}": point.y for point in data.points}
        places = {name: place for place, name in enumerate(data.names)}
        colours = {f"{p.x}, {p.series}": min(places[p.series], 5) for p in data.points}
        scale = "log" if experiment.y.scale == "log" else "linear"
        return bars(values, x=scale, colours=colours)
    series = [Series(name, [*data[name]], [*data[name].values()]) for name in data.names]
    x, y = experiment.x, experiment.y
    return lines(series, x=x.scale, y=y.scale, x_label=x.name, y_label=y.name)


def verdicts(experiment: Experiment, record: Record) -> list[str]:
    """A sentence per claim of the paper."""
    return [verdict(check) for check in experiment.checks(record.data)]


def verdict(check: Check) -> str:
    """Whether a claim holds, what was measured, and why it does not where that is known.

    >>> verdict(Check("a is above b", "a / b = 0.9", False, "b has no bounds to check."))
    'Does not hold: a is above b (a / b = 0.9). b has no bounds to check.'
    """
    if check.holds:
        return f"Holds: {check.claim} ({check.measured})."
    return f"Does not hold: {check.claim} ({check.measured}). {check.why}".strip()


def comparison(experiment: Experiment, record: Record) -> list[tuple[str, str, str]]:
    """What the paper reports, its number, and ours."""
    return [(one.what, one.paper, one.ours(record.data)) for one in experiment.reported]


def heading(experiment: Experiment) -> str:
    return f"{experiment.figure}: {experiment.title}"


def about(record: Record) -> str:
    """How a run was made."""
    machine = record.machine
    return (
        f"{record.input[0].upper()}{record.input[1:]}. Size: {record.size}. "
        f"Measured on {machine['date']} on "
        f"{machine['cores']} cores of {machine['processor']}, with a load of "
        f"{machine['load']:.1f} at the end, by {record.command}."
    )


def page(paper: Paper, records: Records) -> Page:
    """The page of a paper, of the experiments that have a record."""
    sections = []
    held = checks = 0
    for experiment in paper.experiments:
        record = records.get(experiment.name)
        if record is None:
            continue
        found = experiment.checks(record.data)
        held, checks = held + sum(c.holds for c in found), checks + len(found)
        note = " ".join([*verdicts(experiment, record), about(record)])
        figure = Figure(experiment.y.name, chart(experiment, record.data), note)
        beside = Table(("the paper says", "there", "here"), comparison(experiment, record))
        rows = [tuple(point) for point in record.data.points]
        all_rows = Table((experiment.x.name, "series", experiment.y.name), rows, "All values")
        parts = [figure, *([beside] if experiment.reported else []), all_rows]
        sections.append(Section(heading(experiment), parts))
    tiles = [
        Tile("experiments", f"{len(sections)} of {len(paper.experiments)}"),
        Tile("claims that hold", f"{held} of {checks}"),
    ]
    return Page(paper.title, f"The experiments of this paper ({paper.year}), run on Sash.", tiles,
                sections)  # fmt: skip


def summary(paper: Paper, records: Records) -> list[dict[str, str]]:
    """A row per experiment that has a record: how large it was run, and what holds."""
    return [
        {
            "paper": paper.name,
            "figure": experiment.figure,
            "title": experiment.title,
            "size": str(records[experiment.name].size),
            "claims": " ".join(verdicts(experiment, records[experiment.name])),
        }
        for experiment in paper.experiments
        if experiment.name in records
    ]


def rst(paper: Paper, records: Records) -> str:
    """The documentation's page of a paper."""
    parts = [
        ".. Made by `python -m benchmarks.papers --pages --docs docs/papers`.\n",
        f"{paper.title} ({paper.year})\n{'=' * (len(paper.title) + 7)}\n",
        f"``python -m benchmarks.papers {paper.name}`` runs these experiments, ``--full`` at the "
        f"sizes of the paper. {claims_that_hold(paper, records)} Each says how it was run.\n",
    ]
    for experiment in paper.experiments:
        record = records.get(experiment.name)
        if record is not None:
            parts += _rst_of(experiment, record)
    return "\n".join(parts)


def index(papers: Iterable[tuple[Paper, Records]]) -> str:
    """The documentation's list of papers, with how many claims hold of those with records."""
    parts = [
        ".. Made by `python -m benchmarks.papers --pages --docs docs/papers`.\n",
        "The papers' experiments\n=======================\n",
        "``python -m benchmarks.papers`` (or ``sash bench papers``) runs the experiments of the "
        "papers on Sash: smaller than in the paper by default, at its sizes with ``--full``. Each "
        "figure is drawn from what was measured, beside the numbers that the paper gives; whether "
        "a claim holds is computed from the data.\n",
    ]
    pages = []
    for paper, records in papers:
        said = f"{paper.title} ({paper.year}), ``python -m benchmarks.papers {paper.name}``"
        if records:
            pages.append(paper.name)
            said = f":doc:`{paper.name}`. {claims_that_hold(paper, records)}"
        parts.append(f"- {said}")
    if pages:
        parts.append("\n.. toctree::\n   :hidden:\n\n   " + "\n   ".join(pages))
    return "\n".join(parts) + "\n"


def claims_that_hold(paper: Paper, records: Records) -> str:
    """How many claims hold, of the experiments that have records."""
    run = [one for one in paper.experiments if one.name in records]
    checks = [check for one in run for check in one.checks(records[one.name].data)]
    held = sum(check.holds for check in checks)
    return (
        f"{held} of {len(checks)} claims hold; {len(run)} of {len(paper.experiments)} experiments "
        f"were run, {sizes_of(paper, records)}."
    )


def sizes_of(paper: Paper, records: Records) -> str:
    """How many of the experiments were run at the size of the paper."""
    run = [records[one.name] for one in paper.experiments if one.name in records]
    full = sum(record.size == Size.FULL for record in run)
    if full == 0:
        return "all smaller than in the paper"
    return f"{full} of them at the size of the paper"


def _rst_of(experiment: Experiment, record: Record) -> list[str]:
    title = heading(experiment)
    drawn = f"<figcaption>{escape(experiment.y.name)}</figcaption>"
    html = f'<figure class="sash">{drawn}{chart(experiment, record.data)}</figure>'
    parts = [f"{title}\n{'-' * len(title)}\n", f".. raw:: html\n\n   {html}\n"]
    parts.append("".join(f"- {_plain(said)}\n" for said in verdicts(experiment, record)))
    if experiment.reported:
        rows = [("the paper says", "there", "here"), *comparison(experiment, record)]
        parts.append(_list_table(rows))
    parts.append(_plain(about(record)) + "\n")
    return parts


def _plain(text: str) -> str:
    """Text whose marks mean nothing in reStructuredText."""
    return "".join(f"\\{letter}" if letter in "\\*`|_" else letter for letter in text)


def _list_table(rows: list[tuple[str, str, str]]) -> str:
    cells = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        for number, cell in enumerate(row):
            text = short(cell) if isinstance(cell, float) else _plain(str(cell))
            cells.append(f"   {'*' if number == 0 else ' '} - {text}".rstrip())
    return "\n".join(cells) + "\n"
