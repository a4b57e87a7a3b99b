"""The command: `python -m sash.testing.torture --help`."""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from random import SystemRandom

from sash.testing.torture.algorithms import algorithms
from sash.testing.torture.case import Case
from sash.testing.torture.damage import damage
from sash.testing.torture.kills import kills, redis_kills
from sash.testing.torture.servers import redis_binary
from sash.testing.torture.spark import spark
from sash.testing.torture.streams import streams
from sash.testing.torture.tables import tables

PARTS: dict[str, Callable[[Case], None]] = {
    "algorithms": algorithms,
    "tables": tables,
    "streams": streams,
    "damage": damage,
    "kills": kills,
    "redis": redis_kills,
    "spark": spark,
}
SHARES = {
    "algorithms": 4, "tables": 6, "streams": 4, "damage": 8, "kills": 1, "redis": 1, "spark": 1
}  # fmt: skip
"""Cases of each part per case of kills: about as much time for each, and the same in every run."""

KILLING = ("kills", "redis")

OFTEN = 10.0
"""Seconds between two lines of progress."""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sash.testing.torture",
        description="Random operations, definitions, damage and kills against recalculation.",
        epilog="Exit code 1 on a difference, with a command that repeats just that case.",
    )
    parser.add_argument("--seed", type=int, help="what all cases are made of (default: random)")
    parser.add_argument("--minutes", type=float, help="stop after so long (default: 1)")
    parser.add_argument("--operations", type=int, help="stop after this many operations")
    parser.add_argument("--kills", type=int, help="stop after this many kills")
    parser.add_argument("--only", choices=list(PARTS), help="one part instead of all")
    parser.add_argument("--case", type=int, help="one case of that part: --only NAME --case N")
    parser.add_argument("--plain", action="store_true", help="windows are not compiled")
    parser.add_argument("--spark", action="store_true", help="definitions on Spark too")
    found = parser.parse_args(given)
    if found.case is not None and found.only is None:
        parser.error("--case needs --only NAME")
    if found.seed is None:
        found.seed = SystemRandom().randrange(1 << 31)
    if found.minutes is found.operations is found.kills is None:
        found.minutes = 1.0
    return found


def parts(spark: bool) -> list[str]:
    """The parts that run if none is asked for: those over Redis where there is a server."""
    without = {*(() if spark else ("spark",)), *(() if redis_binary() else ("redis",))}
    return [part for part in PARTS if part not in without]


class Run:
    """Cases of all parts in turn, by their shares; `now` says which case runs."""

    def __init__(self, asked: argparse.Namespace, now: mmap.mmap) -> None:
        self.asked, self.now = asked, now
        self.parts = [asked.only] if asked.only else parts(asked.spark)
        self.cases = dict.fromkeys(PARTS, 0)
        self.operations = self.kills = 0
        self.start = self.said = time.monotonic()

    def run(self) -> int:
        """The exit code: 0, or 1 at the first difference."""
        if self.asked.case is not None:
            return self._end(self._one(self.asked.only, self.asked.case))
        while (part := self._next()) is not None:
            if not self._one(part, self.cases[part]):
                return self._end(False)
            if time.monotonic() - self.said > OFTEN:
                self.said = time.monotonic()
                print(f"  {self}", flush=True)
        return self._end(True)

    def _next(self) -> str | None:
        """The part whose turn it is, of those that have not done what was asked for."""
        asked, open_parts = self.asked, []
        if asked.minutes is not None and time.monotonic() - self.start > asked.minutes * 60:
            return None
        aims = asked.operations, asked.kills
        for part in self.parts:
            aim, done = (aims[1], self.kills) if part in KILLING else (aims[0], self.operations)
            if (aim is None and aims == (None, None)) or (aim is not None and done < aim):
                open_parts.append(part)
        return min(open_parts, key=lambda part: self.cases[part] / SHARES[part], default=None)

    def _one(self, part: str, number: int) -> bool:
        case = Case(self.asked.seed, part, number, not self.asked.plain)
        said = case.replay.encode()
        self.now[: len(said) + 1] = said + b"\n"
        try:
            PARTS[part](case)
        except Exception:  # whatever it is, it should not have been raised
            traceback.print_exc()
            print(f"torture: a difference; again with: {case.replay}", flush=True)
            return False
        finally:
            self.cases[part] += 1
            self.operations += case.operations
            self.kills += case.kills
        return True

    def _end(self, good: bool) -> int:
        result = "no difference" if good else "A DIFFERENCE"
        print(f"torture: {result} in {self}, seed {self.asked.seed}", flush=True)
        return 0 if good else 1

    def __str__(self) -> str:
        cases = ", ".join(f"{n} {part}" for part, n in self.cases.items() if n)
        took = time.monotonic() - self.start
        return f"{self.operations:,} operations and {self.kills} kills ({cases}) in {took:.0f} s"


def main(given: Sequence[str] | None = None) -> int:
    """Run in a child, so that a crash of it is told as a difference is."""
    asked = arguments(given)
    print(f"torture: seed {asked.seed}", flush=True)
    now = mmap.mmap(-1, 4096)
    child = os.fork()
    if child == 0:
        os._exit(Run(asked, now).run())
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        os.waitpid(child, 0)
        return 130
    if code < 0:
        again = now.readline().decode().strip()
        name = signal.Signals(-code).name
        print(f"torture: the process ended by {name}; again with: {again}", flush=True)
    return abs(code) and 1


if __name__ == "__main__":
    sys.exit(main())
