"""The peak resident memory of a process that keeps a window: each window in a process of its own.

python -m benchmarks.papers.memory Reactive 4096    prints it in bytes
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.papers.workloads import integers, resized
from sash import monoids as m
from sash.swag.registry import ALGORITHMS

CHUNK = 1 << 16
SLIDES = 1000


def resident(algorithm: str, n: int) -> int:
    """Bytes of a process that fills a window of n items with Max, then slides it.

    The lesser of two processes: the first may compile kernels, which takes up to 50 MB.
    """
    command = [sys.executable, "-m", "benchmarks.papers.memory", algorithm, str(n)]
    runs = (subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(2))
    return min(int(run.stdout.split()[-1]) for run in runs)


def fill_and_slide(algorithm: str, n: int) -> None:
    """Fill by chunks, so that the items to come take little; then some slides."""
    xs = integers(min(CHUNK, n))
    window = ALGORITHMS[algorithm](m.Max().of(np.int32), compiled=True)
    for start in range(0, n, CHUNK):
        window.insert_many(resized(xs, min(CHUNK, n - start)))
    slides = SLIDES if algorithm != "Recalc" else max(1, min(SLIDES, (1 << 26) // n))
    window.slide(resized(xs, slides), n)


def main() -> None:
    """Print the peak of this process; getrusage would give that of the one that started it."""
    fill_and_slide(sys.argv[1], int(sys.argv[2]))
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None, "Linux alone says it"
    print(int(found[1]) * 1024)


if __name__ == "__main__":
    main()
