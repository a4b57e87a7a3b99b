"""Card fraud: one definition of features for training, for a stream and for a service.

    python examples/card_fraud.py                                  # values in an LMDB folder
    python examples/card_fraud.py --store redis://127.0.0.1:6379/0

Made-up payments with labels. The features of a payment are what was known of its card before it.

1. Training: the features at the times of the labels, `.at(labels)`, and a small model.
2. Stream: the state is built from the payments up to a cut, `history=`, and the later payments
   come in batches; each gets its features once the watermark has passed it.
3. Service: the values of all cards in a store, `emit="update"` and `sash.serve`; a reader is asked
   for the card of each payment that is about to be made.

Then all three are compared, payment by payment.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash import functions as sf
from sash import serve, stores

DAY = 86_400_000_000  # microseconds
START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000_000)


def features() -> dict[str, Any]:
    """What is known of a card before a payment: [t - w, t), the payment itself is not in."""
    n_1h = sf.count().over("1 hour", closed="left")
    return {
        "n_1h": n_1h,
        "n_1d": sf.count().over("1 day", closed="left"),
        "cents_1h": sf.sum("cents").over("1 hour", closed="left"),
        "cents_7d": sf.sum("cents").over("7 days", closed="left"),
        "most_7d": sf.max("cents").over("7 days", closed="left"),
        "where_most": sf.argmax("cents", "shop").over("7 days", closed="left"),
        "mean_1h": sf.sum("cents").over("1 hour", closed="left") / n_1h,
    }


def payments(n: int, cards: int, seed: int = 7) -> pa.Table:
    """Payments in order of time; now and then a card is stolen and used often within an hour."""
    rng = np.random.default_rng(seed)
    times, card = rng.integers(0, 30 * DAY, n), rng.zipf(1.3, n) % cards
    cents = np.round(np.exp(rng.normal(7.5, 1.0, n))).astype(np.int64)
    bursts = max(1, n // 200)
    thief = rng.integers(0, cards, bursts).repeat(10)
    when = rng.integers(0, 30 * DAY, bursts).repeat(10) + rng.integers(0, DAY // 24, bursts * 10)
    stolen = np.round(np.exp(rng.normal(9.0, 0.7, bursts * 10))).astype(np.int64)
    table = pa.table(
        {
            "card": np.append(card, thief),
            "ts": pa.array(START + np.append(times, when)).cast(pa.timestamp("us", "UTC")),
            "cents": np.append(cents, stolen),
            "shop": [f"shop {i}" for i in rng.integers(0, 50, n + bursts * 10)],
            "fraud": np.append(np.zeros(n, bool), np.ones(bursts * 10, bool)),
        }
    ).sort_by("ts")
    return table.append_column("payment", pa.array(np.arange(table.num_rows)))


def trained(events: pa.Table) -> pa.Table:
    """The labels with their features: `.at` sees only what came before each of them."""
    labels = events.select(["payment", "card", "ts", "fraud"])
    return sash.windowed(events, "card", time="ts").at(labels).agg(**features())


def streamed(past: pa.Table, batches: list[pa.Table]) -> pa.Table:
    """The features of payments after the history, as a stream gives them."""
    live = sash.stream("card", time="ts", delay="10 minutes", history=past).agg(**features())
    found = [live.feed(batch) for batch in batches]
    end = batches[-1]["ts"][-1].as_py()
    return pa.concat_tables([*found, live.advance(end)])


def served(past: pa.Table, batches: list[pa.Table], store: stores.Store) -> pa.Table:
    """The features of the next payment of each card after a batch, as a service reads them."""
    live = sash.stream(
        "card", time="ts", emit="update", history=past, lead="1 day"
    ).agg(**features())  # fmt: skip
    sink, reader, found = serve.Sink(store, "cards"), serve.Reader(store, "cards"), []
    sink.clear()
    for number, batch in enumerate(batches):
        sink(live.feed(batch), number)
        for coming in first_of_cards(batches[number + 1]) if number + 1 < len(batches) else ():
            value = reader.get(card=coming["card"], now=coming["ts"])
            found.append({"payment": coming["payment"], **value})
    cards = sorted(set(pa.concat_tables([past, *batches])["card"].to_pylist()))
    moment = reader.watermark
    spine = pa.table({"card": cards, "ts": pa.array([moment] * len(cards), past["ts"].type)})
    everything = sash.windowed(pa.concat_tables([past, *batches]), "card", time="ts")
    expected = everything.at(spine).agg(**features()).drop_columns(["card", "ts"]).to_pylist()
    assert reader.get_many(cards) == expected
    print(f"service: {len(cards):,} cards as of {moment} are those of a batch")
    return pa.Table.from_pylist(found)


def first_of_cards(batch: pa.Table) -> list[dict[str, Any]]:
    """The first payment of each card in a batch."""
    found: dict[int, dict[str, Any]] = {}
    for payment in batch.to_pylist():
        found.setdefault(payment["card"], payment)
    return list(found.values())


def agree(name: str, found: pa.Table, training: pa.Table) -> None:
    """Raise AssertionError unless features are those of the training set, payment by payment."""
    expected = training.take(found["payment"])
    for feature in features():
        assert found[feature].to_pylist() == expected[feature].to_pylist(), (name, feature)
    print(f"{name}: the features of {found.num_rows:,} payments are those of the training set")


def quality(training: pa.Table) -> float:
    """How well a linear model of the features finds fraud: the area under the ROC curve."""
    numeric = [name for name in features() if name != "where_most"]
    columns = [np.log1p(pc.fill_null(training[name], 0).to_numpy()) for name in numeric]
    x = np.column_stack([np.ones(training.num_rows), *columns])
    y = training["fraud"].to_numpy().astype(float)
    half = len(y) // 2  # fitted to the first half of the month, judged on the second
    weights, *_ = np.linalg.lstsq(x[:half], y[:half], rcond=None)
    order = np.argsort(x[half:] @ weights, kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    hits = y[half:] == 1
    return float((ranks[hits].mean() - (hits.sum() + 1) / 2) / (~hits).sum())


def main(n: int, cards: int, where: str) -> None:
    events = payments(n, cards)
    training = trained(events)
    print(f"training: {training.num_rows:,} payments, {pc.sum(training['fraud'])} of them fraud")
    print(f"model: area under the ROC curve {quality(training):.3f}")
    cut = events.num_rows * 3 // 4
    while events["ts"][cut] == events["ts"][cut - 1]:  # the history ends between two times
        cut += 1
    past, size = events.slice(0, cut), max(1, events.num_rows // 100)
    edges = range(cut, events.num_rows, size)
    batches = [events.slice(start, size) for start in edges]
    agree("stream", streamed(past, batches), training)
    with stores.open(where) as store:
        agree("service", served(past, batches, store), training)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--payments", type=int, default=20_000)
    parser.add_argument("--cards", type=int, default=1_000)
    parser.add_argument("--store", default=None, help="redis://… or lmdb:folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        main(given.payments, given.cards, given.store or f"lmdb:{folder}/values")
