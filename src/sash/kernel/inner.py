"""Functions that only compiled code calls: linked into drivers, no machine code of their own."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from sash.kernel.machine import JIT

UNUSED = {
    "with_lifting", "inline_closure_likes", "inline_inlinables", "find_literally",
    "literal_unroll", "make_function_op_code_to_jit_function", "Rewrite dynamic raises",
    "inline_overloads", "nopython_rewrites", "dump_parfor_diagnostics",
}  # fmt: skip
"""numba's passes over what the kernel language does not have, such as closures and arrays."""


def inner(function: Any, inline: bool, in_words: bool, **options: Any) -> Any:
    """A function that only compiled code calls, jitted; `in_words`: in the kernel language.

    Compiling takes half as long without the wrappers by which Python would call it, without
    machine code of its own, and without a version of its own for every literal that it is
    called with.
    """
    compiler = _WordsCompiler if in_words else _InnerCompiler
    options = {**JIT, "forceinline": inline, "pipeline_class": compiler, **options}
    jitted = njit(**options, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    template = jitted.get_call_template
    jitted.get_call_template = lambda args, kws: template(tuple(map(types.unliteral, args)), kws)
    return jitted


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A function's code in LLVM's language, which is linked into that of its callers.

    numba would also make machine code of it, and keep that in LLVM's engine: nobody calls it, and
    the engine takes longer for each function, the more it has. Nor is it optimized by itself: it
    is optimized again with its callers.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # numba's answer for a function without wrappers

    @property
    def codegen(self) -> _NoEnvironment:
        return _NoEnvironment()


class _NoEnvironment:
    """Where numba would write a function's environment; `code` writes it into the driver."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, with an _InnerLibrary."""

    def define_pipelines(self) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = _InnerLibrary(codegen, self.state.func_id.func_qualname)
        return super().define_pipelines()


class _WordsCompiler(_InnerCompiler):
    """Without the passes that find nothing in the kernel language, a tenth of the time."""

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [each for each in pipeline.passes if each[0].name() not in UNUSED]
        return pipelines
