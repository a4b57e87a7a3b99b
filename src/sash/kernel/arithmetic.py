"""Integer arithmetic as in Python, compiled: where 64 bits are too few, an error.

numba's integers wrap around silently, and its compiler may assume that they never do. In a
function that `follows_python`, a pass over the typed code replaces operations that can leave the
range by checked ones; division by zero raises by numba's own error model.
A check is one branch that is never taken, and costs almost nothing in a loop.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm
from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import mk_unique_var
from numba.core.typed_passes import NopythonTypeInference
from numba.extending import intrinsic

Generate = Callable[[Any, Any, Any, Any, str], Any]  # context, builder, signature, args, message

WIDE = (types.int64, types.uint64)


def follows_python(function: Any, message: str) -> Any:
    """Options for numba to compile `function` by Python's rules.

    `message` is what an OverflowError says; "{operation}" in it becomes the operation.
    """
    function.__overflow__ = message
    return {"error_model": "python", "pipeline_class": _Careful}


def fitting(kind: Any, message: str) -> Any:
    """A function that converts an integer to `kind`, or raises OverflowError."""

    @intrinsic
    def fit(typingctx: Any, value: Any) -> Any:
        given = types.unliteral(value)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            cast = context.cast(builder, args[0], given, kind)
            if isinstance(given, types.Integer) and given != kind:
                back = context.cast(builder, cast, kind, given)
                lost = builder.icmp_unsigned("!=", back, args[0])
                sign = _negative(builder, kind, cast), _negative(builder, given, args[0])
                _raise_if(context, builder, builder.or_(lost, builder.xor(*sign)), message)
            return cast

        return kind(given), generate

    return fit


def _negative(builder: Any, kind: Any, value: Any) -> Any:
    zero = value.type(0)
    return builder.icmp_signed("<", value, zero) if kind.signed else llvm.IntType(1)(0)


def _raise_if(context: Any, builder: Any, flag: Any, message: str, error: Any = None) -> None:
    with builder.if_then(flag, likely=False):
        context.call_conv.return_user_exc(builder, error or OverflowError, (message,))


def _with_flag(name: str) -> Generate:
    """An operation whose machine instruction says whether its result fits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
        sign = "s" if signature.return_type.signed else "u"
        pair = getattr(builder, f"{sign}{name}_with_overflow")(*args)
        _raise_if(context, builder, builder.extract_value(pair, 1), message)
        return builder.extract_value(pair, 0)

    return generate


_subtract = _with_flag("sub")


def _negate(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    return _subtract(context, builder, signature, (args[0].type(0), args[0]), message)


def _absolute(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    value = args[0]
    lowest = builder.icmp_signed("==", value, value.type(-(2**63)))
    _raise_if(context, builder, lowest, message)
    negative = builder.icmp_signed("<", value, value.type(0))
    return builder.select(negative, builder.neg(value), value)


def _floor_divide(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    a, b = args
    if signature.return_type.signed:
        lowest = builder.icmp_signed("==", a, a.type(-(2**63)))
        minus_one = builder.icmp_signed("==", b, b.type(-1))
        _raise_if(context, builder, builder.and_(lowest, minus_one), message)
    return _as_numba_does(operator.floordiv, context, builder, signature, args)


def _shift_left(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    a, b = args
    _check_count(context, builder, signature, b)
    far = builder.icmp_unsigned(">", b, b.type(63))
    some = builder.icmp_unsigned("!=", a, a.type(0))
    _raise_if(context, builder, builder.and_(far, some), message)
    b = builder.select(far, b.type(0), b)
    shifted = builder.shl(a, b)
    back = (builder.ashr if signature.return_type.signed else builder.lshr)(shifted, b)
    _raise_if(context, builder, builder.icmp_signed("!=", back, a), message)
    return shifted


def _shift_right(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    a, b = args
    _check_count(context, builder, signature, b)
    far = builder.icmp_unsigned(">", b, b.type(63))
    if signature.return_type.signed:
        return builder.ashr(a, builder.select(far, b.type(63), b))
    return builder.select(far, a.type(0), builder.lshr(a, builder.select(far, b.type(63), b)))


def _check_count(context: Any, builder: Any, signature: Any, count: Any) -> None:
    negative = _negative(builder, signature.args[1], count)
    _raise_if(context, builder, negative, "negative shift count", ValueError)


def _power(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    """The nearest double says whether the power fits: no square, cube, … is near the limit."""
    kind, double = signature.return_type, llvm.DoubleType()
    base, exponent = (
        context.cast(builder, x, t, types.float64) for x, t in zip(args, signature.args)
    )
    fraction = builder.fcmp_ordered("<", exponent, double(0))
    _raise_if(context, builder, fraction, "an integer to a negative power: use floats", ValueError)
    form = llvm.FunctionType(double, (double, double))
    power = builder.module.declare_intrinsic("llvm.pow", (double,), form)
    near = builder.call(power, (base, exponent))
    limit = 2.0**63 if kind.signed else 2.0**64
    large = builder.fcmp_ordered(">=", near, double(limit))
    small = builder.fcmp_ordered("<", near, double(-limit))
    higher = builder.fcmp_ordered(">", exponent, double(1))
    _raise_if(context, builder, builder.and_(higher, builder.or_(large, small)), message)
    return _as_numba_does(operator.pow, context, builder, signature, args)


def _whole(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    """int(x) of a float."""
    value = context.cast(builder, args[0], signature.args[0], types.float64)
    double = llvm.DoubleType()
    unknown = builder.fcmp_unordered("uno", value, value)
    _raise_if(context, builder, unknown, "cannot convert float NaN to integer", ValueError)
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, double(-(2.0**63))),
        builder.fcmp_ordered("<", value, double(2.0**63)),
    )
    _raise_if(context, builder, builder.not_(inside), message)
    return builder.fptosi(value, context.get_value_type(types.int64))


def _rounded(context: Any, builder: Any, signature: Any, args: Any, message: str) -> Any:
    _whole(context, builder, signature, args, message)  # a float that large has no fraction
    return _as_numba_does(round, context, builder, signature, args)


def _as_numba_does(op: Any, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = context.typing_context.resolve_value_type(op)
    return context.get_function(kind, signature)(builder, args)


OPERATIONS: dict[Any, tuple[str, Generate]] = {
    operator.add: ("a + b", _with_flag("add")),
    operator.sub: ("a - b", _subtract),
    operator.mul: ("a * b", _with_flag("mul")),
    operator.floordiv: ("a // b", _floor_divide),
    operator.lshift: ("a << b", _shift_left),
    operator.rshift: ("a >> b", _shift_right),
    operator.pow: ("a ** b", _power),
    operator.neg: ("-a", _negate),
    abs: ("abs(a)", _absolute),
    int: ("int(a)", _whole),
    round: ("round(a)", _rounded),
}


@functools.cache
def _checked(op: Any, message: str, given: tuple[Any, ...], kind: Any) -> Any:
    shown, generate = OPERATIONS[op]

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        said = message.replace("{operation}", shown)
        return generate(context, builder, signature, args, said)

    if len(given) == 1:
        return intrinsic(lambda typingctx, a: (kind(*given), lower))
    return intrinsic(lambda typingctx, a, b: (kind(*given), lower))


class _Careful(CompilerBase):  # type: ignore[misc]
    """numba's compiler, with the pass below."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_CheckIntegers, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _CheckIntegers(FunctionPass):  # type: ignore[misc]
    """Replaces operations that can overflow by calls of checked ones."""

    _name = "sash_check_integers"

    def __init__(self) -> None:  # abstract in numba's class
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                found = _operation(state, statement)
                if found is not None:
                    body.append(_replace(state, block.scope, statement, *found))
                body.append(statement)
            block.body = body
        return True


def _operation(state: Any, statement: Any) -> tuple[Any, list[Any]] | None:
    """The operation of a statement that is to be checked, and its arguments."""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Expr):
        return None
    expression = statement.value
    if expression.op == "binop":
        op, args = expression.fn, [expression.lhs, expression.rhs]
    elif expression.op == "inplace_binop":
        op, args = expression.immutable_fn, [expression.lhs, expression.rhs]
    elif expression.op == "unary":
        op, args = expression.fn, [expression.value]
    elif expression.op == "call" and not expression.kws and not expression.vararg:
        op, args = _called(state, expression), list(expression.args)
    else:
        return None
    if op not in OPERATIONS or not _can_overflow(op, state.calltypes[expression]):
        return None
    if op is operator.pow and getattr(expression, "static_rhs", None) == 2:
        return operator.mul, [args[0], args[0]]
    return op, args


def _called(state: Any, expression: Any) -> Any:
    """The function that is called, if it is one of those that are checked."""
    called = getattr(state.typemap[expression.func.name], "typing_key", None)
    return next((known for known in OPERATIONS if called is known), None)


def _can_overflow(op: Any, signature: Any) -> bool:
    if op is int or op is round:
        return signature.return_type == types.int64 and isinstance(signature.args[0], types.Float)
    if len(signature.args) == 1:
        return bool(signature.return_type == signature.args[0] == types.int64)
    return signature.return_type in WIDE and all(
        isinstance(kind, types.Integer) for kind in signature.args
    )


def _replace(state: Any, scope: Any, statement: Any, op: Any, args: list[Any]) -> Any:
    """Make the statement a call; gives the statement to go before it, that names the function."""
    signature = state.calltypes.pop(statement.value)
    message = state.func_id.func.__overflow__
    function = _checked(op, message, tuple(signature.args[: len(args)]), signature.return_type)
    place = ir.Var(scope, mk_unique_var("$checked"), statement.loc)
    call = ir.Expr.call(place, args, (), statement.loc)
    state.typingctx.refresh()  # it learns of new intrinsics only when it is asked to
    kind = state.typingctx.resolve_value_type(function)
    state.typemap[place.name] = kind
    state.calltypes[call] = kind.get_call_type(state.typingctx, signature.args[: len(args)], {})
    statement.value = call
    return ir.Assign(ir.Global(place.name, function, statement.loc), place, statement.loc)
