"""Running experiments, and the records of runs: a JSON file each, with the machine and command."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import write
from benchmarks.papers.experiment import Data, Experiment, Paper, Point, Size
from sash.cli.progress import stage
from sash.report.scale import seconds

Task = tuple[Paper, Experiment]


@dataclass(frozen=True)
class Record:
    """A run of an experiment: its data, how large it was, on what, when, and by what command."""

    data: Data
    size: Size
    input: str
    command: str
    machine: dict[str, Any]


def folder(out: Path, size: Size) -> Path:
    """Where records of a size are."""
    return out / "papers" / size


def run(tasks: list[Task], size: Size, out: Path) -> None:
    """Run experiments one after the other, each recorded when it ends."""
    started = time.monotonic()
    with stage("papers", total=len(tasks)) as running:
        for number, (paper, experiment) in enumerate(tasks):
            running.done = number
            place = f"experiment {number + 1} of {len(tasks)}, {paper.name} {experiment.name}"
            left = time_left(time.monotonic() - started, number, len(tasks))
            begun = time.monotonic()
            points: dict[tuple[Any, str], Point] = {}
            passes = passes_of(experiment, size)
            for _ in range(passes):
                for point in experiment.measure(size):
                    keep(points, point, experiment)
                    running.note = f"{place}, {point.series} at {point.x}{left};"
            about = {"size": size, "input": experiment.input(size)}
            about["input"] += f"; best of {passes} passes" if passes > 1 else ""
            about["seconds"] = round(time.monotonic() - begun, 1)
            rows = [point._asdict() for point in points.values()]
            write(f"{paper.name}-{experiment.name}", rows, folder(out, size), **about)
        running.done, running.note = len(tasks), f"{len(tasks)} experiments"


def passes_of(experiment: Experiment, size: Size) -> int:
    """How often all points are measured: quick runs are short, so other work shows in them."""
    return experiment.passes if size is Size.QUICK and experiment.best is not None else 1


def keep(points: dict[tuple[Any, str], Point], point: Point, experiment: Experiment) -> None:
    """Add a point, or take its value if that is better than the one of an earlier pass."""
    known = points.get((point.x, point.series))
    if known is not None and experiment.best is not None:
        point = point._replace(y=experiment.best(known.y, point.y))
    points[point.x, point.series] = point


def time_left(spent: float, done: int, total: int) -> str:
    """How long the rest takes if each experiment takes as long as those before.

    >>> time_left(60.0, 2, 4)
    ', about 60 s left'
    """
    return f", about {seconds(spent / done * (total - done))} left" if done else ""


def read(out: Path, paper: Paper, experiment: Experiment, sizes: Iterable[Size]) -> Record | None:
    """The record of an experiment of the first of these sizes that there is."""
    for size in sizes:
        path = folder(out, size) / f"{paper.name}-{experiment.name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            data = Data(Point(**row) for row in found["rows"])
            return Record(data, size, found["input"], found["command"], found["machine"])
    return None
