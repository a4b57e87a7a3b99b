"""The experiments of the papers, run on Sash.

    python -m benchmarks.papers                   all papers, smaller sizes: half an hour
    python -m benchmarks.papers ra flatfit        some papers
    python -m benchmarks.papers ra --only fig9    one experiment
    python -m benchmarks.papers ra --size full    the sizes of the paper (or --full)
    python -m benchmarks.papers --pages --docs docs/papers    the documentation, from records

Each run is recorded in OUT/papers/SIZE/, where the page of each paper is written too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.measure import write
from benchmarks.papers import record
from benchmarks.papers.catalogue import PAPERS
from benchmarks.papers.experiment import Paper, Size
from benchmarks.papers.page import Records, index, page, rst, summary


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("benchmarks.papers", description=__doc__, formatter_class=form)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the experiments")
    parser.add_argument("--size", type=Size, choices=list(Size), default=Size.QUICK)
    parser.add_argument("--full", action="store_const", const=Size.FULL, dest="size")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--pages", action="store_true", help="pages of records that are there")
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="also the documentation's pages"
    )
    options = parser.parse_args(arguments)
    options.papers = options.papers or list(PAPERS)
    for name in options.papers:
        if name not in PAPERS:
            parser.error(f"no paper {name!r}; there are {', '.join(PAPERS)}")
    return options


def tasks_of(options: argparse.Namespace) -> list[record.Task]:
    """The experiments that were asked for."""
    found = [(PAPERS[name], one) for name in options.papers for one in PAPERS[name].experiments]
    chosen = [task for task in found if not options.only or task[1].name in options.only]
    if not chosen:
        raise SystemExit(f"no such experiment; there are {', '.join(e.name for _, e in found)}")
    return chosen


def records_of(paper: Paper, out: Path, sizes: list[Size]) -> Records:
    """The records of a paper that there are, by experiment."""
    found = {one.name: record.read(out, paper, one, sizes) for one in paper.experiments}
    return {name: one for name, one in found.items() if one is not None}


def write_docs(out: Path, folder: Path) -> None:
    """A page per paper that has records, at the papers' sizes where they were run, and a list."""
    folder.mkdir(parents=True, exist_ok=True)
    papers = [(one, records_of(one, out, [Size.FULL, Size.QUICK])) for one in PAPERS.values()]
    for paper, found in papers:
        if found:
            (folder / f"{paper.name}.rst").write_text(rst(paper, found))
    (folder / "index.rst").write_text(index(papers))
    print(f"documentation: {folder}")


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    if not options.pages:
        record.run(tasks_of(options), options.size, options.out)
    rows = []
    for name in options.papers:
        found = records_of(PAPERS[name], options.out, [options.size])
        rows += summary(PAPERS[name], found)
        if found:
            place = record.folder(options.out, options.size) / f"{name}.html"
            print(f"page: {page(PAPERS[name], found).write(place)}")
    whole = options.papers == list(PAPERS) and not options.only
    if whole and not options.pages:  # else the record stays that of the last whole run
        write("papers", rows, options.out)
    if options.docs is not None:
        write_docs(options.out, options.docs)


if __name__ == "__main__":
    main()
