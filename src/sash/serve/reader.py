"""The reader: the value of a key, of the last batch that was committed, in one trip."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sash import stores
from sash.serve.records import (
    COMMIT,
    DEFINITION,
    Commit,
    Definition,
    ServingError,
    commit_of,
    definition_of,
    visible,
    words,
)
from sash.stores.encoding import decode


class Reader:
    """Reads the values that a sink keeps: `Reader("redis://…").get(user=7)`.

    `expects`: the fingerprint of the definition that values must be of (`fingerprint(out)`). A
    reader goes on while batches are written, and is told if the definition becomes another one.

    >>> import pyarrow as pa, sash
    >>> from sash import functions as sf, serve, stores
    >>> store = stores.open("memory:")
    >>> live = sash.stream("user", time="t", emit="update", lead=20).agg(
    ...     n=sf.count().over(sash.range_between(-10, 0)))
    >>> _ = serve.Sink(store)(live.feed(pa.table({"user": [7, 8, 7], "t": [1, 2, 3]})), 0)
    >>> reader = serve.Reader(store)
    >>> reader.get(user=7), reader.get(user=7, now=12), reader.get_many([8, 9])
    ({'n': 2}, {'n': 1}, [{'n': 1}, {'n': 0}])
    >>> reader.watermark, reader.batch
    (3, 0)
    """

    def __init__(
        self, url: str | stores.Store, name: str = "values", *, expects: str | None = None
    ) -> None:
        self._store = stores.open(url) if isinstance(url, str) else url
        self._owns = isinstance(url, str)
        self._space = self._store.space(name.encode())
        self._expects = expects
        self._definition: Definition | None = None

    def get(self, now: Any = None, **key: Any) -> dict[str, Any]:
        """The value of a key, as of the watermark, or as of a moment `now` that is not before it
        and no further ahead than the stream's `lead`; over the rows up to the watermark.

        One trip to the store.
        """
        return self.get_many([key], now)[0]

    def get_many(self, keys: Iterable[Any], now: Any = None) -> list[dict[str, Any]]:
        """The values of keys, all of one batch: of dictionaries, or of plain values where there
        is one key column. One trip to the store."""
        definition = self._known()
        one = definition.by[0] if len(definition.by) == 1 else None
        each = [k if one is None or isinstance(k, Mapping) else {one: k} for k in keys]
        names = [definition.key(key) for key in each]
        commit, *records = self._space.get_many([COMMIT, *names])
        known = self._checked(commit, definition)
        at = self._moment(definition, known, now)
        found = []
        for record in records:
            steps = visible(record, known.batch).data
            values = definition.nothing if not steps else _at(decode(steps), at)
            found.append(definition.answers(values))
        return found

    def _moment(self, definition: Definition, known: Commit, now: Any) -> float:
        assert known.watermark is not None
        if now is None:
            return known.watermark
        at, end = definition.tick(now), known.watermark + definition.lead
        if not known.watermark <= at <= end:
            first, last = (definition.moment(tick) for tick in (known.watermark, end))
            raise ServingError(
                f"now: values are served from {first} to {last}, and {now} is not among these: "
                "give the stream a longer lead=, or leave out now"
            )
        return at

    def _known(self) -> Definition:
        if self._definition is None:
            (sealed,) = self._space.get_many([DEFINITION])
            if sealed is None:
                raise ServingError(f"{self._space.name} has no values: no batch was written yet")
            self._definition = definition_of(sealed)
        return self._definition

    def _checked(self, record: bytes | None, definition: Definition) -> Commit:
        known = commit_of(record)
        expected = self._expects or definition.fingerprint
        if known.fingerprint != expected or known.watermark is None:
            raise ServingError(
                f"{self._space.name} has values of {words(definition)} with the fingerprint "
                f"{known.fingerprint or 'none'}, not {expected}: the definition is another one; "
                "open a reader on the values of yours"
            )
        return known

    def _commit(self) -> Commit:
        return self._checked(self._space.get_many([COMMIT])[0], self._known())

    @property
    def watermark(self) -> Any:
        """The time as of which values are."""
        return self._known().moment(self._commit().watermark or 0)

    @property
    def batch(self) -> int:
        """The number of the last batch that is committed."""
        return self._commit().batch

    @property
    def fingerprint(self) -> str:
        """The name of the definition that values are of."""
        return self._known().fingerprint

    def close(self) -> None:
        """Let go of the store."""
        if self._owns:
            self._store.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()


def _at(steps: Sequence[Any], moment: float) -> Any:
    """The value at a moment."""
    return steps[max(0, bisect_right(steps, moment, key=_moment_of) - 1)][1]


def _moment_of(step: Any) -> Any:
    return step[0]
