"""The figures of a batch."""

from __future__ import annotations

from typing import NamedTuple


class Stats(NamedTuple):
    """Figures of a batch: rows in, out and late, what was read and written, what is kept."""

    rows_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    keys: int = 0
    rows_read: int = 0
    partials_read: int = 0
    combined: int = 0
    state_bytes: int = 0
    state_rows: int = 0
    read: int = 0
    written: int = 0
    keys_forgotten: int = 0
