"""The real Redis server of the stores' tests."""

from tests.stores.conftest import server

__all__ = ["server"]
