"""Machine code as bytes: compile a driver, keep what numba made of it, load it again.

Importing this file imports numba. It is not numba's own file cache: that one looks at a
function's file and time stamp, and loads whatever lies beside it. Nor does loading wait until
numba knows all that it could compile, which takes longer than the loading.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from llvmlite import binding as llvm
from numba import njit
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from sash.kernel.machine import JIT


@functools.cache
def processor() -> tuple[str, str, str]:
    """The target of machine code: the system, the processor's name and its features."""
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    return triple, name, features


def runs_here(made_for: Sequence[str]) -> bool:
    """Whether code for that processor runs on this one: the same, or any with its features."""
    triple, name, features = made_for
    if tuple(made_for) == processor():
        return True
    here = llvm.get_host_cpu_features()
    wanted = [feature[1:] for feature in features.split(",") if feature.startswith("+")]
    same_system = triple == processor()[0]
    return same_system and name == "generic" and all(here.get(feature) for feature in wanted)


def compile_driver(
    driver: Callable[..., Any], scope: dict[str, Any], name: str, signature: tuple[Any, ...]
) -> Any:
    """A driver compiled with `scope` as its globals: what numba gives, with `entry_point`.

    Machine code is linked by name: `name` makes sure that no two kernels have one name.
    """
    # Machine code is loaded with the function's module: name one that is there.
    around = {**scope, "__builtins__": __builtins__, "__name__": __name__}
    copy = FunctionType(driver.__code__, around, f"{driver.__name__}_{name}")
    made = njit(signature, nogil=True, **JIT)(copy)
    # Found by its signature: numba takes two named tuples of the same shape for one type.
    found = made.overloads[signature]
    for each in _environments(found):  # those of inner functions are set nowhere else
        environment = lookup_environment(each)
        if environment is not None:
            cpu_target.target_context.codegen().set_env(each, environment)
    return found


def dump(made: Any) -> bytes | None:
    """The bytes from which `load` gives the same code again; None for code that holds addresses.

    Of what numba would keep, the code for inlining into other functions and the text of the
    types are left out: two thirds of the bytes.
    """
    if made.library.has_dynamic_globals or made.lifted:
        return None
    library, descriptor, environment, signature, objectmode, lifted, _, init, others = (
        made._reduce()
    )
    name, kind, (machine_code, _) = library
    kept = (name, kind, (machine_code, _names(made)))
    return serialize.dumps(
        (
            _needed(made.library),
            (kept, descriptor, environment, signature, objectmode, lifted, "", init, others),
        )
    )


@global_compiler_lock
def load(blob: bytes) -> Callable[..., Any]:
    """The compiled driver that `dump` was given."""
    needed, parts = pickle.loads(blob)
    context = cpu_target.target_context
    rtsys.initialize(context)
    if any(_is_missing(name) for name in needed):
        context.refresh()
    missing = [name for name in needed if _is_missing(name)]
    if missing:  # LLVM would end the process
        raise ImportError(f"it needs {', '.join(missing)}")
    made = CompileResult._rebuild(context, *parts)
    if not made.library.get_pointer_to_function(made.fndesc.llvm_cpython_wrapper_name):
        raise ImportError("it has no code under its own name")
    run: Callable[..., Any] = made.entry_point
    return run


def _needed(library: Any) -> list[str]:
    """The functions and variables from elsewhere that the code refers to."""
    module = library._final_module
    names = [x.name for xs in (module.functions, module.global_variables) for x in xs
             if x.is_declaration]  # fmt: skip
    return [name for name in names if not name.startswith("llvm.")]


def _names(made: Any) -> bytes:
    """A module, as bitcode, that only has the names by which numba finds its way into the code."""
    lines = [f'@"{name}" = global ptr null' for name in _environments(made)]
    lines.append(f'define void @"{made.fndesc.llvm_cpython_wrapper_name}"() {{ ret void }}')
    bitcode: bytes = llvm.parse_assembly("\n".join(lines)).as_bitcode()
    return bitcode


def _environments(made: Any) -> list[str]:
    """The variables of the environments of a driver and of the functions inside it."""
    variables = made.library._final_module.global_variables
    return [x.name for x in variables if x.name.startswith("_ZN08NumbaEnv")]


def _is_missing(name: str) -> bool:
    known = cpu_target.target_context.codegen()._engine._defined_symbols
    return llvm.address_of_symbol(name) is None and name not in known
