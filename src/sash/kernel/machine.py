"""Memory by address, in numba: load, store, pointers, and vector expressions."""

from __future__ import annotations

from typing import Any

from numba import from_dtype, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from sash.kernel.words import BELOW, SMALL

JIT = {"error_model": "numpy"}


def _place(context: Any, builder: Any, base: Any, offset: Any, model: Any) -> Any:
    """The pointer to a number: from its base, so that LLVM sees which steps a loop takes."""
    start = builder.inttoptr(base, context.get_value_type(types.voidptr))
    return builder.bitcast(builder.gep(start, [offset]), model.get_data_type().as_pointer())


def _apart(builder: Any, access: Any, own: str, other: str) -> Any:
    """Say of an access that it is to memory of one kind, which never is that of another."""
    module = builder.module
    domain = module.add_metadata(["sash"])
    for name, kind in (("alias.scope", own), ("noalias", other)):
        access.set_metadata(name, module.add_metadata([module.add_metadata([kind, domain])]))
    return access


def _small(builder: Any, access: Any) -> Any:
    """Say of a 64-bit integer that is read that it is at least -SMALL, and less than SMALL."""
    ends = [access.type(-SMALL), access.type(SMALL)]
    access.set_metadata("range", builder.module.add_metadata(ends))
    return access


def _stay(builder: Any) -> None:
    """Keep what was read before from being read only on the branch that needs it.

    A `combine` with a branch then reads all rows alike, and is vectorized with straight reads.
    """
    from llvmlite import ir

    kind = ir.FunctionType(ir.VoidType(), ())
    builder.call(builder.module.declare_intrinsic("llvm.sideeffect", (), kind), ())


def _loader(own: str = "", other: str = "", small: bool = False) -> Any:
    """load(base, offset, like): the number `offset` bytes from `base`, of the type of `like`."""

    @intrinsic
    def load(typingctx: Any, base: Any, offset: Any, like: Any) -> Any:
        kind = types.unliteral(like)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            model = context.data_model_manager[kind]
            found = builder.load(_place(context, builder, args[0], args[1], model))
            found = _small(builder, found) if small and kind == types.int64 else found
            if small:
                _stay(builder)
            return model.from_data(builder, _apart(builder, found, own, other) if own else found)

        return kind(types.int64, types.int64, kind), generate

    return load


def _storer(own: str = "", other: str = "") -> Any:
    """store(base, offset, value): write a number `offset` bytes from `base`."""

    @intrinsic
    def store(typingctx: Any, base: Any, offset: Any, value: Any) -> Any:
        kind = types.unliteral(value)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            model = context.data_model_manager[kind]
            place = _place(context, builder, args[0], args[1], model)
            made = builder.store(model.as_data(builder, args[2]), place)
            if own:
                _apart(builder, made, own, other)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), generate

    return store


load, store = _loader(), _storer()

# Answers are never written to cells: so a loop may read cells ahead of the answers it writes.
load_cell, store_cell = _loader("cells", "answers"), _storer("cells", "answers")
load_small = _loader("cells", "answers", small=True)
store_answer = _storer("answers", "cells")


@intrinsic
def pointer(typingctx: Any, address: Any, like: Any) -> Any:
    """pointer(address, like): numbers of the type of `like`, indexed without a check."""
    kind = types.CPointer(types.unliteral(like))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(kind))

    return kind(types.int64, like), generate


def _base_and_step(context: Any, builder: Any, kind: Any, column: Any, width: int) -> Any:
    """Where a column begins, and how far its cells are apart: a pointer, or a table."""
    if isinstance(kind, types.CPointer):
        step = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        return builder.ptrtoint(column, context.get_value_type(types.int64)), step
    return builder.extract_value(column, 0), width  # the mask is not needed


def mover(width: int) -> Any:
    """move_cells(column, to, start, n): copy cells of a column, partials `width` wide."""

    @intrinsic
    def move_cells(typingctx: Any, column: Any, to: Any, start: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            cells, place, origin, count = args
            base, step = _base_and_step(context, builder, column, cells, width)
            byte, size = context.get_value_type(types.voidptr), count.type(step)
            target = builder.inttoptr(builder.add(base, builder.mul(place, size)), byte)
            source = builder.inttoptr(builder.add(base, builder.mul(origin, size)), byte)
            cgutils.raw_memmove(builder, target, source, count, step)
            return context.get_dummy_value()

        return types.void(column, types.int64, types.int64, types.int64), generate

    return move_cells


def prefetcher(width: int) -> Any:
    """prefetch_cell(column, i): bring a cell into the cache, without waiting for it."""

    @intrinsic
    def prefetch_cell(typingctx: Any, column: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            cells, place = args
            base, step = _base_and_step(context, builder, column, cells, width)
            byte, flag = context.get_value_type(types.voidptr), ir.IntType(32)
            address = builder.inttoptr(
                builder.add(base, builder.mul(place, place.type(step))), byte
            )
            kind = ir.FunctionType(ir.VoidType(), (byte, flag, flag, flag))
            ask = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
            builder.call(ask, (address, flag(0), flag(3), flag(1)))  # to read, keep, data
            return context.get_dummy_value()

        return types.void(column, types.int64), generate

    return prefetch_cell


def below_counter(dtype: Any) -> Any:
    """count_below(address, x): how many of the BELOW numbers there are less than x.

    `dtype`: of the numbers there; a float32 is compared with a wider x as that is.
    """

    @intrinsic
    def count_below(typingctx: Any, address: Any, x: Any) -> Any:
        kind = types.unliteral(x)
        cell = kind if dtype is None else from_dtype(dtype)
        if isinstance(kind, types.Float) and kind.bitwidth < cell.bitwidth:
            kind = cell

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            number, count = args[1].type, ir.IntType(64)
            stored = ir.VectorType(context.get_value_type(cell), BELOW)
            several, unset = ir.VectorType(number, BELOW), ir.Undefined
            there = builder.load(builder.inttoptr(args[0], stored.as_pointer()), align=1)
            if stored != several:
                there = builder.fpext(there, several)
            one = builder.insert_element(several(unset), args[1], ir.IntType(32)(0))
            same = ir.VectorType(ir.IntType(32), BELOW)([0] * BELOW)
            each = builder.shuffle_vector(one, several(unset), same)
            is_float = isinstance(kind, types.Float)
            compare = builder.fcmp_ordered if is_float else builder.icmp_signed
            bits = builder.bitcast(compare("<", there, each), ir.IntType(BELOW))
            return builder.ctpop(builder.zext(bits, count))

        return types.int64(types.int64, kind), generate

    return count_below


def _zero_counter(name: str, method: str) -> Any:
    """An intrinsic that counts the bits of a 64-bit integer that are 0, up to one that is not."""

    def count(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            return getattr(builder, method)(args[0], ir.IntType(1)(1))  # 0 itself is not asked for

        return types.int64(types.int64), generate

    count.__name__ = count.__qualname__ = name
    return intrinsic(count)


zeros_below, zeros_above = (
    _zero_counter("zeros_below", "cttz"),
    _zero_counter("zeros_above", "ctlz"),
)


@intrinsic
def known(typingctx: Any, value: Any) -> Any:
    """known(value): the number of an optional value, or 0 where it is None; without a branch."""
    kind = value.type if isinstance(value, types.Optional) else value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not isinstance(value, types.Optional):
            return args[0]
        optional = cgutils.create_struct_proxy(value)(context, builder, value=args[0])
        zero = context.get_constant_null(kind)
        return builder.select(cgutils.as_bool_bit(builder, optional.valid), optional.data, zero)

    return kind(value), generate


@intrinsic
def is_null(typingctx: Any, value: Any) -> Any:
    """is_null(value): 1 where an optional value is None, else 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        byte = ir.IntType(8)
        if not isinstance(value, types.Optional):
            return byte(0)
        optional = cgutils.create_struct_proxy(value)(context, builder, value=args[0])
        return builder.zext(builder.not_(cgutils.as_bool_bit(builder, optional.valid)), byte)

    return types.uint8(value), generate


@intrinsic
def cycles(typingctx: Any) -> Any:
    """cycles(): the processor's cycle counter."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        read = builder.module.declare_intrinsic(
            "llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), ())
        )
        return builder.call(read, ())

    return types.int64(), generate


def vector_element(combine: Any, like: Any, step: int) -> Any:
    """element(v, k): element k of a vector's address or of a pair to be combined."""

    def unknown(v, k):  # type: ignore[no-untyped-def]  # numba compares the signatures
        raise NotImplementedError

    element: Any = unknown

    @overload(element, jit_options={**JIT, "forceinline": True})
    def element_of(v, k):  # type: ignore[no-untyped-def]
        if isinstance(v, types.Integer):
            return lambda v, k: load(v, k * step, like)
        return lambda v, k: combine(element(v[0], k), element(v[1], k))

    return njit(**JIT, forceinline=True)(lambda v, k: element(v, k))
