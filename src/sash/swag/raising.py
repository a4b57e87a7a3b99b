"""Raising: whether compiled code of a monoid may raise, so that a batch has to be undone.

In compiled code a function raises where it says so, where an integer does not fit in 64 bits,
where a divisor is zero and where an index is out of range; all but the first only in a user's
function, and in those of Sash that say so (`sash.kernel.arithmetic`).
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

from sash.kernel.layout import Layout
from sash.monoids.captured import functions_of
from sash.monoids.monoid import Monoid

KEPT = 256  # monoids whose answer is known
_known: dict[int, tuple[Monoid, bool]] = {}
_ARITHMETIC = ("BINARY_OP", "UNARY_NEGATIVE", "INPLACE_")
_CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT")  # an index that is checked while it is compiled


def may_raise(monoid: Monoid) -> bool:
    """Whether a function of the monoid may raise when it is compiled; False is for sure."""
    found = _known.get(id(monoid))
    if found is None or found[0] is not monoid:
        if len(_known) >= KEPT:
            _known.clear()
        functions = (monoid.lift, monoid.combine, monoid.lower, monoid.inverse, monoid.fill)
        may = _narrows(monoid) or any(map(function_may_raise, functions))
        found = _known[id(monoid)] = monoid, may
    return found[1]


def function_may_raise(function: Any) -> bool:
    """Whether a function may raise, or one that it calls."""
    return any(map(_steps_may_raise, functions_of(function)))


def _steps_may_raise(function: Any) -> bool:
    if hasattr(function, "__overflow__"):
        return True
    if not isinstance(function, types.FunctionType):
        return False
    is_ours = (function.__module__ or "").startswith("sash.")
    before = ""
    for step in dis.get_instructions(function):
        if step.opname == "RAISE_VARARGS":
            return True
        if step.opname == "BINARY_SUBSCR" or step.argrepr == "[]":
            if not is_ours and before not in _CONSTANT:
                return True
        elif not is_ours and step.opname.startswith(_ARITHMETIC):
            return True
        before = step.opname
    return False


def _narrows(monoid: Monoid) -> bool:
    """Whether a user's function gives integers that may not fit in the state."""
    layout = Layout.of(monoid.identity, monoid.dtype)
    if layout is None or all(leaf.kind not in "iu" for leaf in layout.leaves):
        return False
    functions = (monoid.lift, monoid.combine, monoid.fill)
    modules = (getattr(f, "__module__", None) or "" for f in functions if f is not None)
    return not all(module.startswith("sash.") for module in modules)


def returns(function: Any, *items: Any) -> bool:
    """Whether a function returns from these items when it is compiled, found by calling it.

    Compiled code raises more than Python where integers do not fit in 64 bits, and where the power
    of one is negative.

    >>> returns(lambda x: (x << 62) * 4 // 8, 1), returns(lambda x: (x << 62) * 4 // 8, 0)
    (False, True)
    """
    try:
        return _fits(function(*map(_checked, items)))
    except Exception:  # of a user's function
        return False


def _fits(found: Any) -> bool:
    if isinstance(found, tuple):
        return all(map(_fits, found))
    return not isinstance(found, int) or -(1 << 63) <= found < 1 << 63


def _checked(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_checked, x))
    return Integer64(x) if type(x) is int else x


class Integer64(int):
    """An integer that raises OverflowError where it would not fit in 64 bits."""


def _narrow(operation: Callable[..., Any]) -> Callable[..., Any]:
    def narrow(*operands: int) -> Any:
        found = operation(*operands)
        if type(found) is float:  # a negative power
            raise ValueError("an integer to a negative power")
        if found is NotImplemented:
            return found
        if not _fits(found):
            raise OverflowError(f"{found} does not fit in 64 bits")
        return Integer64(found)

    return narrow


_OF_TWO = ["add", "sub", "mul", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"]
for _name in (*_OF_TWO, *(f"r{name}" for name in _OF_TWO), "neg", "pos", "abs", "invert"):
    setattr(Integer64, f"__{_name}__", _narrow(getattr(int, f"__{_name}__")))
