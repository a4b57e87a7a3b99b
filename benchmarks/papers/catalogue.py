"""The papers, by the name that the command takes."""

from __future__ import annotations

from benchmarks.papers import flatfit, ra
from benchmarks.papers.experiment import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (ra.PAPER, flatfit.PAPER)}
