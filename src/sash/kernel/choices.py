"""Choices, in numba: one of two values by a mask of bits, without a branch."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import errors
from numba.extending import intrinsic


@intrinsic
def choose(typingctx: Any, passes: Any, a: Any, b: Any) -> Any:
    """choose(passes, a, b): `a` where `passes` is -1, and `b` where it is 0; without a branch.

    By their bits, as compilers may make a branch of any comparison.
    """
    kind = typingctx.unify_types(types.unliteral(a), types.unliteral(b))
    if kind is None:
        raise errors.TypingError(f"the identity is {b}, and lift gives {a}")
    return kind(passes, a, b), _choice(a, b, kind)


@intrinsic
def item_or(typingctx: Any, passes: Any, x: Any, instead: Any) -> Any:
    """item_or(passes, x, instead): as `choose`, always of the type of `x`."""
    kind = types.unliteral(x)
    return kind(passes, x, instead), _choice(x, instead, kind)


@intrinsic
def pick_partial(typingctx: Any, mask: Any, a: Any, b: Any) -> Any:
    """pick_partial(mask, a, b): as `choose`, of partials that were computed just before.

    Floats are blended, for which compilers make no branch, and which is sooner done than to take
    their bits.
    """
    kind = typingctx.unify_types(types.unliteral(a), types.unliteral(b))
    return kind(mask, a, b), _choice(a, b, kind, blends=True)


def _choice(a: Any, b: Any, kind: Any, blends: bool = False) -> Any:
    """How `choose` is generated for two values that become one type."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        mask, first, second = args
        first = context.cast(builder, first, a, kind)
        second = context.cast(builder, second, b, kind)
        return _chosen(context, builder, kind, mask, first, second, blends)

    return generate


def _chosen(context: Any, builder: Any, kind: Any, mask: Any, a: Any, b: Any, blends: bool) -> Any:
    """The bits of one of two values of a type, number by number."""
    if isinstance(kind, types.BaseTuple):
        parts = []
        for i, part in enumerate(kind):
            one, other = (builder.extract_value(x, i) for x in (a, b))
            parts.append(_chosen(context, builder, part, mask, one, other, blends))
        return context.make_tuple(builder, kind, parts)
    from llvmlite import ir

    if blends and isinstance(kind, types.Float):
        return builder.select(builder.icmp_signed("<", mask, mask.type(0)), a, b)
    width = kind.bitwidth if isinstance(kind, types.Float) else a.type.width
    bits, narrow = ir.IntType(width), mask.type.width
    resize = builder.sext if width > narrow else builder.trunc
    mask = mask if width == narrow else resize(mask, bits)
    one, other = (builder.bitcast(x, bits) for x in (a, b))
    both = builder.or_(builder.and_(one, mask), builder.and_(other, builder.not_(mask)))
    return builder.bitcast(both, a.type)


def lift_all(passes: Any, lift: Any, x: Any, nothing: Any, instead: Any) -> Any:
    """What `lift_if` is when it is compiled: of the two, numba compiles the one that is taken."""
    if instead is None:
        return choose(passes, lift(x), nothing)
    return choose(passes, lift(item_or(passes, x, instead)), nothing)
