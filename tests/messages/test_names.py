"""Names of aggregations that people know from elsewhere."""

import re

import pytest

import sash
from sash import functions as sf
from sash.aggregations.elsewhere import INSTEAD


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("average", 'sash.functions has no average: write sf.mean("x")'),
        ("nunique", 'sash.functions has no nunique: write sf.count_distinct("x")'),
        ("n_unique", 'sash.functions has no n_unique: write sf.count_distinct("x")'),
        ("quantile", 'sash.functions has no quantile: write sf.percentile("x", 0.9)'),
        ("sumIf", 'sash.functions has no sumIf: write sf.sum("x").where("y > 0")'),
        ("rolling_mean", 'sash.functions has no rolling_mean: write sf.mean("x").over("1 hour")'),
        ("meen", "sash.functions has no meen; did you mean 'mean'?"),
        ("xyzzy", "sash.functions has no xyzzy; see dir(sash.functions)"),
    ],
)
def test_what_to_write_instead(name: str, message: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(sf, name)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", sorted(set(INSTEAD.values())))
def test_what_is_advised_runs(text: str) -> None:
    assert eval(text.replace("…", "'1 hour'"), {"sf": sf, "sash": sash}) is not None


def test_no_name_is_advised_against_that_is_there() -> None:
    assert not set(INSTEAD) & set(dir(sf))


def test_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match=r"did you mean sash\.windowed\?"):
        _ = sash.windowd  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'; there are Monoid, .*windowed"):
        _ = sash.xyzzy  # type: ignore[attr-defined]
    assert {"windowed", "stream", "testing", "functions", "spark", "Monoid"} <= set(dir(sash))
    assert not [name for name in dir(sash) if re.fullmatch("_[^_].*|Any|TYPE_CHECKING", name)]
    assert not {"pa", "m", "kinds", "average", "Callable"} & set(dir(sf))
    for name in dir(sash):
        assert getattr(sash, name, None) is not None or name.startswith("__")
