"""The errors of SQL that Sash leaves to the host, and of SQL that nobody takes."""

from __future__ import annotations


class NotTaken(ValueError):
    """A part of a query that Sash does not compute itself; the message says why."""


class SqlError(ValueError):
    """A query that cannot run; the message names the part, the reason and what to do."""
