"""The ladder: what is taken for what is asked, with the reason; what can not be taken."""

import numpy as np
import pytest

from sash import monoids as m
from sash.plan.choose import PREFERENCE, Need, choose

MAX, SUM = m.Max(), m.Sum().of(np.dtype(np.int64))


@pytest.mark.parametrize(
    ("need", "algorithm"),
    [
        (Need(MAX), "TwoStacksLite"),
        (Need(MAX, items=3), "Recalc"),
        (Need(MAX, items=1000), "TwoStacksLite"),
        (Need(MAX, items=1000, latency="worst"), "DABALite"),
        (Need(SUM, items=1000), "SubtractOnEvict"),
        (Need(SUM, items=1000, latency="worst"), "SubtractOnEvict"),
        (Need(MAX, policy=True), "AMTA"),
    ],
)
def test_the_ladder(need: Need, algorithm: str) -> None:
    choice = choose(need)
    assert choice.algorithm == algorithm
    assert choice.reason


def test_every_rule_is_reachable_and_names_its_algorithm_once() -> None:
    names = [rule.algorithm for rule in PREFERENCE]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("need", "algorithm", "says"),
    [
        (Need(MAX), "SubtractOnEvict", "Max has no inverse"),
        (Need(MAX, policy=True), "FlatFIT", "policy"),
        (Need(MAX, policy=True), "FiBA", "policy"),
        (Need(MAX), "Magic", "algorithm must be one of"),
    ],
)
def test_what_can_not_be_taken(need: Need, algorithm: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        choose(need, algorithm)


def test_the_user_can_take_another() -> None:
    assert choose(Need(MAX, items=3), "DABA").algorithm == "DABA"


def test_latency_is_checked() -> None:
    with pytest.raises(ValueError, match="latency must be"):
        Need(MAX, latency="soon")  # type: ignore[arg-type]
