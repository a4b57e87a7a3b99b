"""Ctrl-C, as a terminal sends it to all processes of a command: one line, and no process left."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.conftest import SASH

LAST = "sash: interrupted; nothing half-written is left"


@pytest.fixture
def command(home: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """`sash run` with processes of its own; what the test leaves is ended."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [*SASH, "run", "good.toml"],
                cwd=home,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return started[0]

    yield start
    for process in started:
        for one in _group(process.pid):
            one.kill()


def _group(leader: int) -> list[psutil.Process]:
    """The processes that a command started, and itself, as long as they live."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def interrupted(process: subprocess.Popen[str], when: Callable[[], bool]) -> list[str]:
    """Press Ctrl-C when it is time; what was said on standard error."""
    while not when():
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    _, left = psutil.wait_procs(_group(process.pid), timeout=120)
    assert not left
    return said.splitlines()


def test_while_spark_starts(command: Callable[[], subprocess.Popen[str]]) -> None:
    """The JVM is there and does not answer yet."""
    process = command()
    said = interrupted(process, lambda: any(map(is_driver, _group(process.pid))))
    assert said == ["  on Spark: the file has a [spark] table", LAST]


def is_driver(process: psutil.Process) -> bool:
    """Whether it is the JVM, and no longer the one that puts its command together."""
    try:
        return "org.apache.spark.deploy.SparkSubmit" in process.cmdline()
    except psutil.Error:
        return False


@pytest.mark.slow
def test_while_it_runs(command: Callable[[], subprocess.Popen[str]], home: Path) -> None:
    slow = "import time\n\n\ndef slow(x):\n    time.sleep(0.2)\n    return x, x\n\n\n"
    text = (home / "own_monoids.py").read_text().replace("both, wider", "slow, wider")
    (home / "own_monoids.py").write_text(slow + text)
    said = interrupted(command(), lambda: any(home.glob(".out.sash/new/_temporary")))
    assert said[-1] == LAST
    assert not any("Traceback" in line or "ERROR" in line for line in said), said
    assert not (home / "out").exists()
    assert not list(home.glob(".out*"))
