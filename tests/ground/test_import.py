"""What `import sash` costs: neither numba nor pyspark, and no warning."""

import json
import subprocess
import sys


def modules_after(code: str) -> set[str]:
    code += "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_import_sash_is_light() -> None:
    assert not modules_after("import sash") & {"numba", "llvmlite", "pyspark", "py4j"}


def test_import_spark_layer_brings_pyspark() -> None:
    assert "pyspark" in modules_after("import sash.spark")


def test_the_drivers_process_for_a_batch_imports_next_to_nothing() -> None:
    """Spark starts one for each micro-batch of a stream."""
    before = modules_after("import pyspark.sql.streaming.stateful_processor")
    more = modules_after("import sash.spark.processor") - before
    assert not more & {"numpy", "pandas", "pyarrow", "numba", "sash.engine", "sash.swag"}
