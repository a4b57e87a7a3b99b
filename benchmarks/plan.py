"""Plans that share work: many queries over one stream, against one query, and against FlatFAT.

    python -m benchmarks.plan                         both experiments, a minute or two
    python -m benchmarks.plan --experiment queries    100 queries, ranges from 10 to 10^6
    python -m benchmarks.plan --experiment ranges     all ranges from 1 to 1,000

`queries`: 100 ranges spread evenly over the orders of magnitude from 10 to 10^6, each
sliding by a share of itself. By time, ranges are seconds and there are `rate` rows in each;
by count they are rows. What 100 queries cost is compared with what one of them costs: the
dearest of the shortest, a middle one and the longest. No plan can do it with fewer than a
combine an answer, so `answers` (a row) is to be read beside `ratio`.

`ranges`: the max-multi-query setting of the FlatFIT paper. After every row there is an
answer for each range; on one way back over the rows, on FlatFIT, and on FlatFAT.

Rates are of the best of several runs taken in turns; fresh memory for the answers is
part of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import best_of, table, write
from sash import monoids as m
from sash.kernel.answers import Answers
from sash.kernel.compiled import Target, compiled
from sash.kernel.words import (
    ANSWER,
    attach,
    combine,
    get,
    give,
    hold,
    item,
    lift,
    lower,
    numbers,
    one,
    put,
)
from sash.monoids import Monoid
from sash.plan import Plan, Query, by_count, by_time, plan
from sash.plan.query import Periodic
from sash.swag import flat_fat
from sash.swag.heap import Heap

RANGES = [round(10 * 10 ** (5 * k / 99)) for k in range(100)]
RIGHT = flat_fat.PLACES


def queries(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """100 queries against one of them."""
    xs = np.random.default_rng(1).random(options.rows)
    for by, share in (("time", 10), ("count", 1), ("count", 2), ("count", 10)):
        times = np.arange(options.rows) // options.rate if by == "time" else None
        few = [RANGES[0], RANGES[len(RANGES) // 2], RANGES[-1]]
        plans = {"all": spread(by, RANGES, share)} | {
            f"one of {size:,}": spread(by, [size], share) for size in few
        }
        runs = {name: running(p, xs, times) for name, p in plans.items()}
        for run in runs.values():
            run()
        spent = best_of(runs, options.repeat)
        one_alone = max(seconds for name, seconds in spent.items() if name != "all")
        yield {
            "by": by, "slide": "range" if share == 1 else f"range / {share}",
            "rows": options.rows, "answers": answered(plans["all"], options.rate),
            "one, ns a row": one_alone / options.rows * 1e9,
            "all, ns a row": spent["all"] / options.rows * 1e9,
            "ratio": spent["all"] / one_alone,
            "combines, ratio": combines(by, RANGES, share) / combines(by, few[:1], share),
        }  # fmt: skip


def spread(by: str, ranges: list[int], share: int, monoid: Any = None) -> Plan:
    """A query for each range."""
    make: Callable[..., Query] = by_time if by == "time" else by_count
    kept = m.Max() if monoid is None else monoid
    return plan([make(kept, r, max(1, r // share), name=str(r)) for r in ranges])


def running(p: Plan, xs: np.ndarray, times: np.ndarray | None) -> Callable[[], Any]:
    return lambda: p.run(xs, times)


def answered(p: Plan, rate: int) -> float:
    """Answers a row."""
    windows: list[Periodic] = [query.window for query in p.queries]
    a_tick = sum(1 / window.slide for window in windows)
    return a_tick / rate if windows[0].by == "time" else a_tick


def combines(by: str, ranges: list[int], share: int) -> float:
    """Combines a row, counted in plain Python; ranges and rows up to a hundredth of all."""
    done = 0

    def larger(a: float, b: float) -> float:
        nonlocal done
        done += 1
        return a if a > b else b

    monoid = Monoid("max", -1.0, float, larger, dtype=object)
    small = [r for r in ranges if r <= RANGES[-1] // 100]
    run = spread(by, small, share, monoid).start(compiled=False)
    n, rate = 2 * max(small), 10 if by == "time" else 1
    for part in range(2):
        before = done
        times = np.arange(part * n, (part + 1) * n).repeat(rate) if by == "time" else None
        run.feed([0.0] * n * rate, times)
    return (done - before) / n / rate


def ranges(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All ranges from 1 to n."""
    for n in options.sizes:
        xs = np.random.default_rng(1).random(10 * options.rows // n)
        asked = [by_count(m.Max(), r, name=str(r)) for r in range(1, n + 1)]
        chosen = plan(asked)
        fit = plan(asked, algorithm="FlatFIT")
        fat = fat_of(n)
        runs = {
            "plan": running(chosen, xs, None),
            "FlatFIT": running(fit, xs, None),
            "FlatFAT": lambda fat=fat, xs=xs: fat(xs),
        }
        for run in runs.values():
            run()
        same(chosen.run(xs), fat(xs), n)
        spent = best_of(runs, options.repeat)
        row: dict[str, Any] = {"ranges": n, "plan takes": chosen.groups[0].choice.algorithm}
        for name, seconds in spent.items():
            row[f"{name}, ns an answer"] = seconds / len(xs) / n * 1e9
        row["FlatFAT / plan"] = spent["FlatFAT"] / spent["plan"]
        row["FlatFAT / FlatFIT"] = spent["FlatFAT"] / spent["FlatFIT"]
        yield row


def same(out: Any, answers: np.ndarray, n: int) -> None:
    """What is compared must be equal."""
    for k, column in enumerate(answers.reshape(-1, n).T):
        assert np.array_equal(out[str(k + 1)].answer, column)


def fat_of(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """All ranges from 1 to n on a FlatFAT whose leaves are used round and round."""
    tree = flat_fat.FlatFAT(m.Max(), np.zeros(n))
    typed, layout = tree._monoid, tree._layout
    assert layout is not None
    target = Target(
        typed, layout, {}, flat_fat.At, flat_fat.Store, inputs=(np.dtype(np.float64),),
        places=flat_fat.PLACES + 1,
    )  # fmt: skip
    kernel = compiled(slide_fat, target)
    sizes = np.arange(1, n + 1)

    def run(xs: np.ndarray) -> np.ndarray:
        room = Heap(flat_fat.Store, layout, typed.identity, flat_fat.PLACES + 1, tree._at.n, work=2)
        given = Answers(kernel.answer, len(xs) * n)
        kernel.run(
            room.memory(), tree._at, (xs.ctypes.data,), len(xs), sizes.ctypes.data, n, given.address
        )
        return given.values

    return run


def slide_fat(memory: Any, at: Any, xs: Any, n: int, sizes: Any, m: int, out: Any) -> Any:
    """After each row, its path to the root is renewed; then each range is a few nodes."""
    q = attach(memory)
    last, leaves = numbers(sizes), at.n
    for v in range(2 * leaves):
        put(q.part, v, one(q))
    for i in range(n):
        newest = i & (leaves - 1)
        put(q.part, leaves + newest, lift(q, item(xs, i)))
        flat_fat_update(q, leaves + newest)
        for k in range(m):
            size = min(last[k], i + 1)
            if size <= newest + 1:
                total = cover(q, leaves + newest + 1 - size, leaves + newest + 1)
            else:  # round the end: the older part comes first
                older = flat_fat_suffix(q, leaves, leaves + newest + 1 - size)
                total = hold(q, ANSWER, combine(older, flat_fat_prefix(q, leaves, newest)))
            give(out, i * m + k, lower(total))
    return at


flat_fat_update = flat_fat.update_one
flat_fat_suffix = flat_fat.suffix
flat_fat_prefix = flat_fat.prefix


def cover(q: Any, lo: int, hi: int) -> Any:
    """Leaves lo to hi - 1, combined from as few nodes as there are."""
    left = hold(q, ANSWER, one(q))
    right = hold(q, RIGHT, one(q))
    while lo < hi:
        if lo & 1:
            left = hold(q, ANSWER, combine(left, get(q.part, lo)))
            lo += 1
        if hi & 1:
            hi -= 1
            right = hold(q, RIGHT, combine(get(q.part, hi), right))
        lo, hi = lo >> 1, hi >> 1
    return hold(q, ANSWER, combine(left, right))


EXPERIMENTS = {"queries": queries, "ranges": ranges}


def main() -> None:
    """Run the experiments that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan", description=__doc__)
    parser.add_argument("--experiment", choices=EXPERIMENTS, nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=100, help="rows a second, by time")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results")
    options = parser.parse_args()
    for name in options.experiment:
        rows = list(EXPERIMENTS[name](options))
        print(f"\n{name}\n{table(rows)}")
        print(f"written to {write(f'plan-{name}', rows, options.out)}")


if __name__ == "__main__":
    main()
