"""The papers, by the name that the command takes."""

from __future__ import annotations

from benchmarks.papers import amta, daba, fiba, flatfit, ra
from benchmarks.papers.experiment import Paper

ALL = (ra.PAPER, daba.PAPER, amta.PAPER, fiba.PAPER, flatfit.PAPER)
PAPERS: dict[str, Paper] = {paper.name: paper for paper in ALL}
