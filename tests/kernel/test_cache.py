"""The kernel cache: named by content, shared by processes, never stale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np, warnings
warnings.simplefilter("error")
from sash import Monoid, swag
from mine import combine
monoid = Monoid("mine", 0, int, combine)
print(swag.TwoStacksLite(monoid, compiled=True).slide(np.arange(1, 6), 3).tolist())
"""


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run the program in a process of its own, with a cache of its own and a `mine` module."""

    def start(combine: str) -> subprocess.Popen[str]:
        (tmp_path / "mine.py").write_text(textwrap.dedent(combine))
        environment = {
            **os.environ,
            "SASH_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def answers(process: subprocess.Popen[str]) -> str:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out.strip()

    def runs(combine: str, processes: int = 1) -> list[str]:
        return [answers(p) for p in [start(combine) for _ in range(processes)]]

    runs.cache = tmp_path / "cache" / "kernels"  # type: ignore[attr-defined]
    return runs


SUM = """
OFFSET = 0
def add(a, b):
    return a + b + OFFSET
def combine(a, b):
    return add(a, b)
"""


def machine_code(run: object) -> list[str]:
    return sorted(p.name for p in run.cache.glob("*.kernel"))  # type: ignore[attr-defined]


def test_an_edit_is_seen_wherever_it_is(run) -> None:  # type: ignore[no-untyped-def]
    assert run(SUM) == ["[1, 3, 6, 9, 12]"]
    first = machine_code(run)
    assert len(first) == 1
    assert run(SUM) == ["[1, 3, 6, 9, 12]"]
    assert machine_code(run) == first, "the same content was compiled again"
    assert run(SUM.replace("a + b", "max(a, b)")) == ["[1, 2, 3, 4, 5]"]
    assert run(SUM.replace("OFFSET = 0", "OFFSET = 1000"))[0] != "[1, 3, 6, 9, 12]"
    assert run(SUM) == ["[1, 3, 6, 9, 12]"]


def test_many_processes_at_once_share_one_kernel(run) -> None:  # type: ignore[no-untyped-def]
    assert set(run(SUM, processes=4)) == {"[1, 3, 6, 9, 12]"}
    assert len(machine_code(run)) == 1


TWO = """
import sys
import numpy as np
from sash import Monoid, monoids as m, swag
def affine_lift(x):
    return (x % 97, 1)
def affine(f, g):
    return (f[0] * g[0] % 97, (f[1] * g[0] + g[1]) % 97)
kinds = {
    "affine": (Monoid("affine", (1, 0), affine_lift, affine), np.arange(1, 99)),
    "sum": (m.Sum(), np.arange(1, 99) * 0.5),
    "max": (m.Max(), np.arange(1, 99) * 0.5),
}
for kind in sys.argv[1:]:
    monoid, xs = kinds[kind]
    for algorithm in (swag.TwoStacksLite, swag.TwoStacks):
        compiled = algorithm(monoid, compiled=True).slide(xs, 16).tolist()
        plain = algorithm(monoid, compiled=False).slide(xs.tolist(), 16)
        assert [*map(str, compiled)] == [*map(str, np.array(plain).tolist())] or np.allclose(
            np.array(compiled, float), np.array(plain, float)
        ), (kind, algorithm)
print("agree")
"""


@pytest.mark.parametrize(
    "names", [["affine", "max"], pytest.param(["affine", "sum", "max"], marks=pytest.mark.slow)]
)
def test_kernels_of_several_processes_do_not_mix(names: list[str], tmp_path: Path) -> None:
    """Each process makes one kernel, the last loads them all: machine code is linked by name."""
    environment = {**os.environ, "SASH_CACHE_DIR": str(tmp_path)}
    for kinds in (*([name] for name in names), names[::-1]):
        command = [sys.executable, "-c", TWO, *kinds]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "agree", (kinds, done.stderr)


THREADS = """
import sys, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from sash import Monoid, swag
warnings.simplefilter("error")
sys.setswitchinterval(1e-5)
monoids = [Monoid(f"threads {i}", 0, int, lambda a, b: a + b) for i in range(2)]
def slide(i):
    window = swag.TwoStacksLite(monoids[i % 2], compiled=True)
    return window.slide(np.arange(1, 6), 3).tolist()
with ThreadPoolExecutor(6) as pool:
    assert list(pool.map(slide, range(6))) == [[1, 3, 6, 9, 12]] * 6
"""


def test_threads_that_need_kernels_at_the_same_time(tmp_path: Path) -> None:
    """First they compile, then, in a new process, they load what was compiled."""
    environment = {**os.environ, "SASH_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        command = [sys.executable, "-c", THREADS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("kernels/*"))) == 2
