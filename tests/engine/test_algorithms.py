"""Every registered algorithm under `sash.windowed`: the answers of recalculation, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import functions as sf
from sash import monoids as m
from sash.engine import row_windows
from sash.plan.explain import Explanation
from sash.swag.registry import ALGORITHMS
from tests.conformance.cases import affine
from tests.engine.test_row_windows import sample

P = 10_007
"""A prime: maps x -> a x + b modulo P, a not 0, compose exactly and have inverses."""


def composed(older: Any, younger: Any) -> Any:
    return (older[0] * younger[0] % P, (older[1] * younger[0] + younger[1]) % P)


def without(total: Any, old: Any) -> Any:
    """What comes after `old` in `total`: divided by old's factor, by Fermat's little theorem."""
    factor, base, power = total[0], old[0], P - 2
    while power > 0:
        if power & 1:
            factor = factor * base % P
        base = base * base % P
        power >>= 1
    return (factor, (total[1] - old[1] * factor) % P)


def number_map(x: int) -> Any:
    return (x % (P - 1) + 1, (x * x + 1) % P)


def word_map(word: str | None) -> Any:
    return (1, 0) if word is None else (len(word) + 2, sum(word.encode()) % P)


def both_numbers(v: Any) -> Any:
    return v[0] * P + v[1]


OF_NUMBERS = m.Monoid("maps", (1, 0), number_map, composed, both_numbers, inverse=without)
OF_WORDS = OF_NUMBERS.with_(lift=word_map)

FRAMES = {
    "rows": sash.rows(9),
    "around": sash.rows_between(-4, 2),
    "ahead": sash.rows_between(2, 5),  # some windows are empty
    "time": sash.range_between(-12, 3),
    "session": sash.session(6),
}


def asked(invertible: bool) -> dict[str, sf.Aggregation]:
    numbers = OF_NUMBERS if invertible else affine()  # the same as in other tests: compiled once
    wanted = {"maps": sf.apply(numbers, "i"), "words": sf.apply(OF_WORDS, "w")}
    if not invertible:
        wanted |= {"list": sf.collect_list("w")}
    return {
        f"{name}_{frame}": a.over(over)
        for name, a in wanted.items()
        for frame, over in FRAMES.items()
    }


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_gives_what_recalculation_gives(algorithm: str, monkeypatch: Any) -> None:
    """Keys, nulls and ties; a state that does not commute, of numbers and of objects."""
    monkeypatch.setattr(row_windows, "BLOCK", 64)
    table = sample(400, 21, keys=5)
    place = table.column_names.index("i")
    table = table.set_column(place, "i", table["i"].cast(pa.int64()))
    wanted = asked(invertible=algorithm == "SubtractOnEvict")
    call = sash.windowed(table, "k", time="s", algorithm=algorithm)
    found = call.agg(**wanted)
    assert {state.choice.algorithm for state in call.plan(**wanted).states} == {algorithm}
    again = sash.windowed(table, "k", time="s", algorithm="Recalc").agg(**wanted)
    for name in wanted:
        assert found.column(name).equals(again.column(name)), name


@pytest.mark.parametrize(
    ("options", "aggregation", "algorithm"),
    [
        ({}, sf.max("x").over(sash.rows(50)), "TwoStacksLite"),
        ({"latency": "worst"}, sf.max("x").over(sash.rows(50)), "DABALite"),
        ({}, sf.max("x").over(sash.rows(3)), "Recalc"),
        ({}, sf.sum("i").over(sash.rows(50)), "SubtractOnEvict"),
        ({}, sf.sum("x").over(sash.rows(50)), "TwoStacksLite"),
        ({}, sf.sum("x").over(sash.policy(lambda total, old: total - old > 5)), "AMTA"),
        ({}, sf.sum("n").over(sash.rows_between(sf.col("lo"), sf.col("hi"))), "FiBA"),
        ({"algorithm": "FiBA"}, sf.apply(affine(), "n").over(sash.rows(50)), "FiBA"),
        ({"algorithm": "FlatFIT"}, sf.max("x").over(sash.rows(50)), "FlatFIT"),
        ({"algorithm": "LogMTA"}, sf.sum("x").over(sash.policy(lambda t, o: t > 5)), "LogMTA"),
    ],
)
def test_a_need_leads_to_its_algorithm(
    options: dict[str, Any], aggregation: sf.Aggregation, algorithm: str
) -> None:
    table = sample(200, 3)
    table = table.append_column("n", table["i"].cast(pa.int64()))
    for name, bound in (("lo", -3), ("hi", 1)):
        table = table.append_column(name, pa.array([bound] * 200))
    told: Explanation = sash.windowed(table, "k", time="s", **options).explain(a=aggregation)
    [state] = told.plan.states
    assert state.choice is not None
    assert state.choice.algorithm == algorithm
    assert algorithm in told
    sash.windowed(table, "k", time="s", **options).agg(a=aggregation)


@pytest.mark.parametrize(
    ("algorithm", "aggregation", "says"),
    [
        ("SubtractOnEvict", sf.max("x").over(sash.rows(9)), r"a: .*Max has no inverse"),
        ("FlatFIT", sf.sum("x").over(sash.policy(lambda t, o: t > 5)), "a: .*policy"),
        ("DABA", sf.max("x").over(sash.rows_between(sf.col("n"), sf.col("n"))), "a: .*only FiBA"),
        ("Magic", sf.max("x").over(sash.rows(9)), "algorithm must be one of Recalc, "),
    ],
)
def test_an_algorithm_that_cannot_is_refused(algorithm: str, aggregation: Any, says: str) -> None:
    table = sample(9, 3).append_column("n", pa.array([0] * 9))
    with pytest.raises(ValueError, match=says):
        sash.windowed(table, "k", time="s", algorithm=algorithm).agg(a=aggregation)


def obeyed(rows: list[Any], monoid: m.Monoid, judge: m.Monoid, policy: Any) -> list[Any]:
    """Each row's answer by trying every run of oldest rows; a null brings nothing."""
    window: list[Any] = []
    answers = []

    def fold(of: m.Monoid, items: list[Any]) -> Any:
        total = of.identity
        for x in items:
            total = of.combine(total, of.lift(x))
        return total

    for x in rows:
        window += [] if x is None else [x]
        total = fold(judge, window)
        gone = 0
        while gone < len(window) and policy(total, fold(judge, window[: gone + 1])):
            gone += 1
        window = window[gone:]
        answers.append(monoid.lower(fold(monoid, window)) if window else None)
    return answers


def full(total: int, old: int) -> bool:
    return total - old >= 20


def all_but_few(total: int, old: int) -> bool:
    return total - old > 3


TOTAL = m.Sum(dtype="int64")
POLICIES = {
    "of another": (sf.apply(OF_NUMBERS, "n"), full, m.Sum(), (OF_NUMBERS, TOTAL)),
    "of its own": (sf.sum("n"), full, None, (TOTAL, TOTAL)),
    "of rows": (sf.max("n"), all_but_few, m.Count(), (m.Max(), m.Count())),
    "of all": (sf.sum("n"), lambda total, old: True, None, (TOTAL, TOTAL)),
}


@pytest.mark.parametrize("algorithm", ["AMTA", pytest.param("LogMTA", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", ["of another", *(pytest.param(n, marks=pytest.mark.slow) for n in list(POLICIES)[1:])]
)
def test_policies_run_compiled_and_leave_what_they_are_asked_to(
    name: str, algorithm: str, monkeypatch: Any
) -> None:
    table = sample(300, 31, keys=4)
    numbers = np.random.default_rng(3).integers(1, 9, 300)
    table = table.append_column("n", pa.array(numbers, mask=np.arange(300) % 5 == 2))
    aggregation, function, judge, (kept, by) = POLICIES[name]
    asked = {"a": aggregation.over(sash.policy(function, of=judge))}
    nothing = kept.lower(kept.identity) if kept is OF_NUMBERS else None
    for block in (7, 1 << 17):
        monkeypatch.setattr(row_windows, "BLOCK", block)
        call = sash.windowed(table, "k", time="s", algorithm=algorithm)
        assert call.explain(**asked).plan.states[0].typed
        found = call.agg(**asked)
        for key in range(4):
            rows = found.filter(pc.equal(found.column("k"), key))
            answers = obeyed(rows.column("n").to_pylist(), kept, by, function)
            wanted = [nothing if x is None else x for x in answers]
            assert rows.column("a").to_pylist() == wanted
