"""The definition of keys' values, for those who serve them: metadata of a table of values."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np

from sash.engine.expressions import outputs
from sash.engine.stream.current import Asked
from sash.engine.stream.definition import StreamDefinition
from sash.engine.stream.maps import KeyMap
from sash.engine.stream.pages import MemoryPages
from sash.engine.stream.shard_state import ShardState
from sash.engine.stream.work import Work
from sash.stores.encoding import encode

METADATA = "sash.values"
"""The key of a description in the metadata of a table's schema or of a column."""


def description(definition: StreamDefinition) -> str:
    """Keys, time and outputs of values, the answers of a key without rows, and what they are
    of: as JSON."""
    query = definition.plan.query
    return json.dumps(
        {
            "by": list(query.by),
            "time": query.time,
            "outputs": list(query.outputs),
            "lead": definition.kept.lead,
            "nothing": base64.b64encode(encode(_nothing(definition))).decode(),
            "fingerprint": fingerprint(definition),
        }
    )


def fingerprint(definition: StreamDefinition) -> str:
    """A name for what values are of: the same for the same keys, time and aggregations."""
    query, schema = definition.plan.query, definition.schema
    columns = {name: str(schema.field(name).type) for name in definition.needed}
    asked = {
        out: [str(a), str(a.frame), str(a.condition), a.monoid.digest if a.monoid else "",
              {name: str(e) for name, e in a.derived.items()}]
        for out, a in query.aggregations.items()
    }  # fmt: skip
    results = {out: str(e) for out, e in query.results.items()}
    what = [query.by, query.time, query.outputs, columns, asked, results]
    text = json.dumps(what, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _nothing(definition: StreamDefinition) -> tuple[Any, ...]:
    """The values of a key that has no rows."""
    work = Work(definition)
    keys = KeyMap(np.zeros(1, np.int64), np.zeros(1, np.int64), None, [])
    values = ShardState(work, MemoryPages(), None).values
    answers = values.answers(Asked.now(keys, 0, work.dtype))
    return tuple(value[0].as_py() for value in outputs(definition.plan, {}, answers))
