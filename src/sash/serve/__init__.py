"""Values to serve: the current value of every key of a stream, in Redis or LMDB.

    stream with emit="update"  →  Sink  →  store  →  Reader(url).get(user=7)

A sink keeps what comes out of a stream, batch by batch, and a reader gives the value of a key.
Readers see whole batches only: a record has the value of the batch that is committed and that of
the batch that is being written, and one record, written last, says which batch is committed. A
batch that comes again is left out by its number. Keys whose windows are empty are deleted: a
reader gives the same answers for a key that is not there.

>>> import pyarrow as pa, sash
>>> from sash import functions as sf, serve, stores
>>> store = stores.open("memory:")          # "redis://127.0.0.1:6379/0", "lmdb:folder"
>>> live = sash.stream("user", time="t", emit="update").agg(
...     n=sf.count().over(sash.range_between(-10, 0)))
>>> sink, reader = serve.Sink(store), serve.Reader(store)
>>> sink(live.feed(pa.table({"user": [7, 8, 7], "t": [1, 2, 3]})), 0)
True
>>> reader.get(user=7), reader.get(user=9), reader.watermark
({'n': 2}, {'n': 0}, 3)
"""

from sash.serve.reader import Reader
from sash.serve.records import ServingError
from sash.serve.sink import Sink, fingerprint

__all__ = ["Reader", "ServingError", "Sink", "fingerprint"]

ServingError.__module__ = __name__  # as users import it, and as errors show it
