"""How does a person use it? `sash run`, `sash explain`, `sash demo`, `sash bench`."""

from sash.cli.main import main

__all__ = ["main"]
