"""The torture command: a few cases of each part, and what it says when an answer is wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sash
from sash import swag
from sash.testing.torture import __main__ as torture
from sash.testing.torture import algorithms
from sash.testing.torture.case import Case, Difference

SOURCES = str(Path(sash.__file__).parents[1])


def test_a_small_run_finds_no_difference() -> None:
    command = [sys.executable, "-m", "sash.testing.torture", "--seed", "1", "--plain"]
    done = subprocess.run(
        [*command, "--operations", "3000", "--kills", "1"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.search(r"no difference in [\d,]+ operations and [1-9] kills .* seed 1$", last)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=pytest.mark.slow if part == "redis" else ())
        for part in torture.parts(spark=False)
    ],
)
def test_every_part_runs(part: str) -> None:
    asked = ["--seed", "7", "--plain", "--only", part, "--case", "3"]
    assert torture.main(asked) == 0


@pytest.mark.parametrize("part", ["algorithms", "tables", "streams", "damage"])
def test_a_case_is_the_same_in_every_run(part: str) -> None:
    """Where no process is killed by the clock, all of it: the dice are where they were."""
    runs = [Case(9, part, 5, False), Case(9, part, 5, False)]
    for case in runs:
        torture.PARTS[part](case)
    assert runs[0].operations == runs[1].operations > 0
    assert runs[0].dice.random() == runs[1].dice.random()


class Forgetful(swag.TwoStacks):
    """Leaves an item in that should go."""

    def evict_many(self, k: int) -> None:
        super().evict_many(max(0, k - 1))


def test_a_difference_is_told_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(algorithms, "ALGORITHMS", {"TwoStacks": Forgetful})
    asked = ["--seed", "5", "--only", "algorithms", "--plain"]
    assert torture.main([*asked, "--minutes", "5"]) == 1
    said = capfd.readouterr()
    assert "Difference: TwoStacks of" in said.err
    again = re.search(r"again with: python -m sash.testing.torture (.*)\n", said.out)
    assert again is not None
    assert torture.main(again[1].split()) == 1
    assert capfd.readouterr().err.splitlines()[-1] == said.err.splitlines()[-1]


def test_a_crash_is_told_like_a_difference(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def crash(case: Case) -> None:
        if case.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setitem(torture.PARTS, "tables", crash)
    assert torture.main(["--seed", "5", "--only", "tables", "--minutes", "5"]) == 1
    again = "python -m sash.testing.torture --seed 5 --only tables --case 2"
    assert f"the process ended by SIGKILL; again with: {again}\n" in capfd.readouterr().out


def test_a_case_is_made_of_its_seed_part_and_number() -> None:
    def drawn(*given: Any) -> list[float]:
        return [Case(*given).dice.random() for _ in range(3)]

    assert drawn(1, "tables", 7) == drawn(1, "tables", 7) != drawn(1, "tables", 8)
    with pytest.raises(Difference, match="the sum: 1, expected 2"):
        Case(1, "tables", 7).same(1, 2, "the sum")


@pytest.mark.slow
def test_on_spark() -> None:
    assert torture.main(["--seed", "2", "--only", "spark", "--minutes", "1"]) == 0


@pytest.mark.slow
def test_a_long_run_finds_no_difference() -> None:
    assert torture.main(["--seed", "2", "--minutes", "3"]) == 0
