"""The errors of stores and of what they keep, by what the caller can do about them."""

from __future__ import annotations


class StoreError(OSError):
    """Something is wrong with a store; `store` says which, as its spec."""

    def __init__(self, store: str, what: str) -> None:
        super().__init__(f"{store}: {what}")
        self.store = store
        self.what = what

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        return type(self), (self.store, self.what)


class StoreUnavailable(StoreError):
    """It is not there now. A commit that met this is there whole or not at all;
    the store object stays usable, and goes on when the store is back."""


class StoreFull(StoreError):
    """There is no room. The commit that met this left nothing; what was there is."""


class StoreConflict(StoreError):
    """A record was not what the commit expected: another writer was here. Nothing
    of the commit was written."""


class NotAStore(StoreError):
    """The data there is not a store of Sash, or not the one that was opened."""


class DamagedState(ValueError):
    """Bytes that are not the state that was written: damaged, cut off, or of another version."""


class PickledState(ValueError):
    """State with pickled objects in it, where pickles are not allowed: they can run any code."""


class PickledRecord(StoreError, PickledState):
    """A record of a store has pickled objects in it, where pickles are not allowed."""


class DamagedRecord(StoreError, DamagedState):
    """A record of a store is not what was written there."""
