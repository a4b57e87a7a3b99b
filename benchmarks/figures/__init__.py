"""All figures of README and of the documentation, by section; `figure` says how to read one.

`sash bench --pages --docs docs` writes them into README.md and docs/, from recorded runs.
"""

from __future__ import annotations

from benchmarks.figures import as_of, spark, streams, tables, windows

SECTIONS = [
    tables.TABLES,
    tables.ROLLFUN,
    tables.LANGUAGE,
    as_of.ASOF,
    spark.SPARK,
    streams.STREAMS,
    spark.SPARK_STREAMS,
    streams.SERVING,
    windows.WINDOWS,
]
FIGURES = {figure.name: figure for section in SECTIONS for figure in section.figures}

README = ["random-polars", "flat", "own", "spark-many", "stream-final-100"]
"""The figures of README's table, in its order."""
