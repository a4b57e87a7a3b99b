"""All functions: documented with an example, known to pipeline files, exported once."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from sash import functions as sf
from sash.cli.aggregations import COLUMNS, FUNCTIONS, PLAIN


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_pipeline_file_can_name_all_of_its_parameters(name: str) -> None:
    for parameter in inspect.signature(getattr(sf, name)).parameters.values():
        assert parameter.name in COLUMNS or str(parameter.annotation) in PLAIN, parameter


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_says_what_it_gives(name: str) -> None:
    function = getattr(sf, name)
    assert inspect.getdoc(function), name
    if function.__module__.startswith("sash.aggregations"):
        assert ">>>" in function.__doc__, name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.count(distinct=True), "distinct values of what"),
        (lambda: sf.collect_list("x", descending=True), "Give order_by"),
        (lambda: sf.listagg("x", descending=True), "Give order_by"),
        (lambda: sf.histogram("x", bins=[3]), "edges must be two numbers or more"),
        (lambda: sf.top_k("x", 0), "TopK: k must be at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
