"""Benchmarks: anyone can run them, each with one command; figures are ratios in one run."""
