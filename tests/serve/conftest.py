"""The real Redis server of the stores' tests."""

from tests.stores.conftest import new_server, server

__all__ = ["new_server", "server"]
