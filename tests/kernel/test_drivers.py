"""The types of a driver's parameters are declared, not guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sash import monoids as m
from sash.kernel import words
from sash.kernel.compiled import Target, compiled
from sash.kernel.layout import Layout
from sash.kernel.words import Memory, attach
from sash.memory.queue import Columns
from sash.swag.two_stacks_lite import At


def undeclared(memory: Memory, at: Any) -> Any:
    attach(memory)
    return at


def declared(memory: Memory, where: At) -> At:
    attach(memory)
    return where


class Range(NamedTuple):
    first: int
    past: int


def total(memory: Memory, at: At, numbers: Range) -> int:
    attach(memory)
    found = 0
    for i in range(numbers.first, numbers.past):
        found += i
    return found


def test_a_parameter_may_be_a_record() -> None:
    kernel = compiled(total, target())
    assert kernel.run((0, 0, 0), At(0, 0, 0, 1.5), Range(3, 7)) == sum(range(3, 7))


def test_a_parameter_without_a_type_is_named() -> None:
    with pytest.raises(TypeError, match="driver undeclared: parameter at has Any; annotate it"):
        compiled(undeclared, target())


def test_cursors_may_have_any_name() -> None:
    at = At(0, 0, 0, 1.5)
    assert compiled(declared, target()).run((0, 0, 0), at) == at


def target() -> Target:
    return Target(m.Max(), Layout(np.dtype(np.float64)), {}, At, Columns)


def test_the_page_has_every_word_and_every_annotation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kernel.rst").read_text()
    bound = [name for name, word in vars(words).items() if callable(word) and word.__doc__]
    kinds = ["Memory", "Cursors", "InputColumns", "Outputs", "Pair", "Address", "Windows"]
    rare = {"cycles", "policy", "dtype_of", "outlined", "word"}  # `word` makes words
    asked = {name for name in bound if name.islower() and not name.startswith("_")} - rare
    missing = [name for name in (*asked, *kinds) if f"``{name}" not in page]
    assert not missing
