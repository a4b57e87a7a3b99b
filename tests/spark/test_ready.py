"""Workers that are made ready: the next job finds Sash imported in all of them."""

import sys

import pyarrow as pa

from sash.spark.workers import make_ready


def test_the_next_job_finds_sash_in_every_worker(spark):
    cores = spark.sparkContext.defaultParallelism

    def look(batches):
        has = "sash.spark.partition" in sys.modules and "numba" in sys.modules
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"has": [has] * len(batch)})

    make_ready(spark).join()
    found = spark.range(0, cores, 1, cores).mapInArrow(look, "has boolean").collect()
    assert len(found) == cores
    assert all(row["has"] for row in found)


def test_a_session_that_is_gone_says_nothing(monkeypatch, spark):
    monkeypatch.setattr(type(spark), "range", lambda *_: 1 / 0)
    make_ready(spark).join()
