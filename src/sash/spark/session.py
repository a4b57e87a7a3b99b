"""A local Spark session with what Sash needs."""

import os
import shlex
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from sash.spark import java
from sash.spark.gateway import ended_if_interrupted

QUIET = """\
#!/bin/sh
# Python for Spark's workers. Made by sash.spark.session.
case "$*" in *transform_with_state_driver_worker*) exec {python} "$@" >/dev/null ;; esac
exec {python} "$@"
"""

Setting = str | int | float | bool | None

DEFAULTS: dict[str, Setting] = {
    # 64k rows per batch are about 1.4 times as fast as Spark's 10k; more does not help.
    "spark.sql.execution.arrow.maxRecordsPerBatch": 65536,
    "spark.sql.execution.arrow.pyspark.enabled": True,
    # Python's stateful operators run on RocksDB only; with a changelog a commit writes what
    # has changed, not all the state.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
    # Local files of checkpoints without a second one that has their checksums: half the time. The
    # other class that Spark has for them is faster still, and must not be set: it keeps the state
    # of a batch that was cut off where the batch that is run again has written its own.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
}


def session(app: str = "sash", master: str = "local[*]", **conf: Setting) -> SparkSession:
    """The running Spark session, or a new local one that is set up for Sash.

    Settings go by Spark's own names, and win over Sash's; None leaves Spark's own default.
    A session that is already running is given these settings and kept otherwise, as
    `SparkSession.builder.getOrCreate()` does. The time zone is left to you.

    >>> spark = session(master="local[2]", **{"spark.sql.shuffle.partitions": 2})
    >>> spark.range(10).groupBy().sum().first()[0]
    45
    """
    for name in conf:
        _check(name)
    if not master.startswith("local"):
        raise ValueError(
            f"session() starts a local Spark, not {master!r}: on a cluster make your own "
            "SparkSession and give its DataFrames to Sash"
        )
    if SparkSession.getActiveSession():
        return _builder(conf).getOrCreate()
    _prepare_environment()
    settings = {**DEFAULTS, "spark.driver.memory": f"{_memory() >> 20}m", **conf}
    with ended_if_interrupted():
        spark = _builder(settings).master(master).appName(app).getOrCreate()
    if "spark.sql.shuffle.partitions" not in conf:
        cores = spark.sparkContext.defaultParallelism
        spark.conf.set("spark.sql.shuffle.partitions", cores)
    return spark


def _builder(settings: dict[str, Setting]) -> SparkSession.Builder:
    given: dict[str, Setting] = {
        name: value for name, value in settings.items() if value is not None
    }
    return SparkSession.builder.config(map=given)


def _check(name: str) -> None:
    if not name.startswith("spark."):
        raise TypeError(
            f"session() has no setting {name!r}: give Spark's own names, as in "
            'session(**{"spark.sql.shuffle.partitions": 4})'
        )


def _prepare_environment() -> None:
    """Set what cannot be given as a setting: the JVM and the Python workers inherit it."""
    spark_home = os.environ.get("SPARK_HOME")
    if not spark_home:
        os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "conf"))
    elif not any(Path(spark_home, "jars").glob(f"spark-core_*-{pyspark.__version__}.jar")):
        raise RuntimeError(
            f"SPARK_HOME={spark_home} holds another Spark than this PySpark, which is "
            f"{pyspark.__version__}: unset SPARK_HOME, PySpark brings its own Spark"
        )
    os.environ["JAVA_HOME"] = str(java.find_home())
    os.environ["PYSPARK_PYTHON"] = _quiet_python()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _quiet_python() -> str:
    """This Python for Spark's workers; the one that a stream's driver starts prints nothing.

    It reports its progress on standard output, for each batch, and Spark passes that on.
    """
    try:
        home = java.script_home("python", QUIET.format(python=shlex.quote(sys.executable)))
    except OSError:  # no place for the script: as noisy as Spark is
        return sys.executable
    return str(home / "bin" / "python")


def _memory() -> int:
    """Bytes for the JVM: half of what the machine or the container has, from 1 to 8 GiB."""
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text().strip()).isdecimal():
        have = min(have, int(text))
    return min(max(have // 2, 1 << 30), 8 << 30)
