"""The error that ends a command: one line for a person, and a status for a script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

WRONG_INPUT = 2
FAILED = 1
INTERRUPTED = 130


class EndError(Exception):
    """Ends the command with its message, one line, and a status that is not 0."""

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status


MANY = 40
"""More values than this are not all listed."""


def known(names: Iterable[str], wrong: str = "") -> str:
    """The known values, and the one that was meant, perhaps; of many, those that are near.

    >>> known(["max", "min"], "maxx")
    'known are max, min; did you mean max?'
    >>> known([f"p{i}" for i in range(100)] + ["max"], "maxx")
    'did you mean max?'
    """
    names = list(names)
    near = get_close_matches(wrong, names, 1 if len(names) <= MANY else 5)
    meant = f"did you mean {', '.join(near)}?"
    if near and len(names) > MANY:
        return meant
    return f"known are {', '.join(names)}" + (f"; {meant}" if near else "")


def short(value: object, most: int = 80) -> str:
    """A value as a message shows it.

    >>> short("x" * 100, 10)
    "'xxxxxxxx…"
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


CORRUPT = re.compile(
    r"MALFORMED_RECORD_IN_PARSING|FAILED_READ_FILE|CANNOT_PARSE|CANNOT_READ_FILE|is not a Parquet"
)
NANOSECONDS = (
    "Spark reads no times of nanoseconds from Parquet: write the file with microseconds, as pandas "
    'does with df.to_parquet(…, coerce_timestamps="us")'
)
NOISE = re.compile(r"^\s*(File|at|Caused by|Traceback|\^|[~^]+$)")


def one_line(problem: BaseException) -> str:
    """The problem in one line: of Spark's exceptions the part that names the cause.

    >>> one_line(KeyError("no column 'x'"))
    "no column 'x'"
    >>> one_line(OSError("[PARQUET_TYPE_ILLEGAL] … INT64 (TIMESTAMP(NANOS,false))"))[:50]
    'Spark reads no times of nanoseconds from Parquet: '
    """
    if isinstance(problem, KeyError) and problem.args:
        return _trimmed(str(problem.args[0]))
    text = str(problem) or type(problem).__name__
    whole = f"{text}\n{getattr(problem, '_stackTrace', '')}"  # Spark's: Java's causes too
    if "TIMESTAMP(NANOS" in text:
        return NANOSECONDS
    if CORRUPT.search(whole):
        return _corrupt(whole)
    raised = re.findall(r"^(?:pyspark\.\S+|[A-Za-z_.]+(?:Error|Exception)): (.+)$", text, re.M)
    if "Traceback (most recent call last)" in text and raised:
        return _trimmed(raised[-1])
    if text.startswith("An error occurred while calling"):  # Py4J's own words, then Java's
        text = re.sub(r"^: \S+: ", "", text.partition("\n")[2])
    text = re.sub(r"^\[STREAM_FAILED\] Query \[[^]]*\] terminated with exception: ", "", text)
    lines = [line for line in text.splitlines() if line.strip() and not NOISE.match(line)]
    return _trimmed(lines[0] if lines else text)


def _corrupt(text: str) -> str:
    record = re.search(r"\[?MALFORMED_RECORD_IN_PARSING[^\n]*?: (.+?)\. *(?:Parse Mode|\n)", text)
    file = re.search(r"(?:FAILED_READ_FILE|CANNOT_READ_FILE)[^\n]*?file:/*([^\s,]+)", text)
    where = f" in /{file.group(1).rstrip('.')}" if file else ""
    cause = re.findall(r"^Caused by: \S+: (.+)$", text, re.MULTILINE)
    if record:
        why = f": {cause[-1]}" if cause and "MALFORMED" not in cause[-1] else ""
        return _trimmed(f"a corrupt row{where}: {record.group(1)}{why}")
    return _trimmed(f"a file cannot be read{where}: {cause[-1] if cause else text}")


def _trimmed(text: str, most: int = 400) -> str:
    text = re.sub(r"\s*SQLSTATE: \w+", "", " ".join(text.split()))
    return text if len(text) <= most else text[: most - 1] + "…"
