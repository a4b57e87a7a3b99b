"""Records of runs, as benchmarks.measure writes them: what was measured, by what, on what, when."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.run import Run
from benchmarks.suites import RUNS, SUITE_OF

Row = dict[str, Any]
PAPERS = re.compile(r"python -m benchmarks\.papers( --(pages|full|size (quick|full)))*")


@dataclass(frozen=True)
class Record:
    """A run: its rows, the command, the version of Sash, the machine and the date."""

    name: str
    rows: list[Row]
    command: str
    version: str
    machine: dict[str, Any]

    @property
    def machine_said(self) -> str:
        """The machine, as a sentence has it."""
        m = self.machine
        processor = re.sub(r"\((R|TM)\)|@.*", "", str(m["processor"])).strip()
        return f"{m['cores']} cores ({processor}), Python {m['python']}"

    @property
    def where(self) -> str:
        """The date, the machine and the version."""
        said = f"{self.machine['date']} on {self.machine_said}"
        return said + (f", version {self.version}" if self.version else "")


Records = dict[str, Record]
"""By name."""


def read(path: Path) -> Record:
    """The record in a file; its name is that of the file, without what tells sizes apart."""
    found = json.loads(path.read_text())
    name = path.stem.partition("--")[0]
    version = found.get("version", "")
    return Record(name, found["rows"], found["command"], version, found["machine"])


def full(out: Path) -> Records:
    """The records of the commands of `sash bench` at full size that are in a folder.

    A record of another command is not one: its figures are of another input.
    """
    found = {}
    for name, run in RUNS.items():
        path = out / f"{name}.json"
        if path.exists() and is_of(run, json.loads(path.read_text())):
            found[name] = Record(**{**vars(read(path)), "name": name})
    return found


def is_of(run: Run, recorded: dict[str, Any]) -> bool:
    """Whether a record is of a run's command.

    Experiments of the papers say their size, and the summary of all is made from their records.
    """
    if run.record == "papers":
        return bool(PAPERS.fullmatch(recorded["command"]))
    if run.record.startswith("papers/"):
        return recorded.get("size") == "full"
    return bool(recorded["command"] == run.command)


def quick(out: Path) -> Records:
    """The records of quick runs that are in a folder."""
    files = sorted(out.glob("*--quick.json"))
    return {record.name: record for record in map(read, files)}


def missing(found: Records, names: Iterable[str] = tuple(RUNS)) -> list[Run]:
    """The runs that have no record."""
    return [RUNS[name] for name in names if name not in found]


def lines_of_missing(found: Records) -> list[str]:
    """For each record that is missing, the commands that make it."""
    return [
        f"missing: {run.record}: sash bench {SUITE_OF[run.record]}, of which {run.command}"
        for run in missing(found)
    ]
