"""Compiled code that calls Python: by the address of a function, given with the memory.

For what is rare and cannot be compiled, such as asking a store for what is not here.
Only this file and `machine` know how; importing it imports numba.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@intrinsic
def call(typingctx: Any, address: Any, a: Any, b: Any) -> Any:
    """call(address, a, b): what the function at `address` gives for two integers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(64)
        function = ir.FunctionType(number, (number, number)).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), args[1:])

    return types.int64(types.int64, types.int64, types.int64), generate


# A kernel's key hashes what its steps refer to. Of this, hash that: numba adds to its own
# objects as they are used, which would give another key each time.
call.py_func = "call, version 1"


def fetch(q: Any, level: int, j: int) -> int:
    """The word `fetch`, compiled: the memory's own function, whose address is in its columns."""
    return call(q.fetch[0], level, j)


fetch.__outlined__ = True  # type: ignore[attr-defined]


def address_of(function: Callable[[int, int], int]) -> tuple[Any, int]:
    """The object to keep alive, and the address to call."""
    kept = Signature(function)
    address = ctypes.cast(kept, ctypes.c_void_p).value
    assert address is not None
    return kept, address
