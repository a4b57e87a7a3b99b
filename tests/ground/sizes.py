"""The size of an install: the files of each package in an environment, without bytecode.

python tests/ground/sizes.py .venv        # MB of each package, the largest first
"""

import sys
from importlib.metadata import distributions
from pathlib import Path

CORE = ("llvmlite", "pyarrow", "numpy", "numba", "sash")
"""The packages of a plain install."""


def sizes(environment: Path) -> dict[str, float]:
    """MB, of 10^6 bytes, by package; what Python compiles on its own is not counted."""
    [packages] = environment.glob("lib/python3*/site-packages")
    found = {
        each.metadata["Name"]: sum(
            Path(str(file.locate())).stat().st_size
            for file in each.files or ()
            if file.suffix != ".pyc" and Path(str(file.locate())).is_file()
        )
        for each in distributions(path=[str(packages)])
    }
    return {name: found[name] / 1e6 for name in sorted(found, key=lambda name: -found[name])}


if __name__ == "__main__":
    of = sizes(Path(sys.argv[1]))
    for name, megabytes in of.items():
        print(f"{name:24} {megabytes:6.1f} MB")
    print(f"{'the core':24} {sum(of.get(name, 0) for name in CORE):6.1f} MB")
