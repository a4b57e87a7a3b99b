"""The tests on the oldest and the newest versions that pyproject.toml allows.

`python3 do.py floors` runs this file; arguments are pytest's. Each set has an environment of its
own beside `.venv`, which a later call brings up to date. Tests of the set-up itself are left out,
as they are about requirements.lock.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETS = {"oldest": "lowest-direct", "newest": "highest"}
SHOWN = ("numba", "numpy", "pyarrow", "pyspark", "pandas", "protobuf", "polars", "duckdb")


def main(arguments: list[str]) -> int:
    uv = Path(sys.executable).parent / "uv"
    failed = []
    for name, resolution in SETS.items():
        folder = ROOT / f".venv-{name}"
        python = folder / "bin" / "python"
        if not python.exists():
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", python]
        install += ["--resolution", resolution, "--upgrade", "--editable", f"{ROOT}[dev]"]
        subprocess.run(install, check=True)
        print(f"floors: the {name} set: {versions(python)}", flush=True)
        tests = [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
        tests += ["--ignore=tests/ground", *arguments]
        cache = {"SASH_CACHE_DIR": str(folder / "sash-cache")}
        if subprocess.run(tests, cwd=ROOT, env={**os.environ, **cache}).returncode:
            failed.append(name)
    print(f"floors: {' and '.join(failed)} failed" if failed else "floors: both sets pass")
    return len(failed)


def versions(python: Path) -> str:
    """The versions that matter, as one line."""
    code = "import sys; from importlib.metadata import version\n"
    code += "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    done = subprocess.run([python, "-c", code, *SHOWN], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
