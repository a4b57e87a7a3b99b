"""sash.spark.session: wrong input is named before a JVM is started."""

from importlib import import_module
from pathlib import Path

import pytest

from sash.spark import session


def test_settings_go_by_sparks_names() -> None:
    with pytest.raises(TypeError, match=r"no setting 'shuffle_partitions'.*Spark's own names"):
        session(shuffle_partitions=4)


def test_clusters_have_their_own_session() -> None:
    with pytest.raises(ValueError, match=r"starts a local Spark, not 'yarn'"):
        session(master="yarn")


def test_another_spark_in_spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match="unset SPARK_HOME"):
        import_module("sash.spark.session")._prepare_environment()


def test_memory_is_bounded() -> None:
    assert 1 << 30 <= import_module("sash.spark.session")._memory() <= 8 << 30
