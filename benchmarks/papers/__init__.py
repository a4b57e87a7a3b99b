"""The experiments of the papers, run on Sash: `python -m benchmarks.papers`."""
