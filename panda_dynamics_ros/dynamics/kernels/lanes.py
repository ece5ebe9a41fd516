# SPDX-License-Identifier: Apache-2.0
"""A number type that holds the same quantity of eight states, and arrays of it.

A kernel is written once, for one state. Compiled for `lanes` instead of float64 numbers it computes eight states
at once in the CPU's vector registers (AVX-512; two or four registers with AVX2 or NEON). The source and the order of
operations are the same, and so are the results, to the last bit. The vectoriser of LLVM does not do this: it gives up
at a recursion over links.

`LaneArray` stands where a kernel has an array of one state: `state_lanes(q, k)[i]` are the q_i of states k .. k + 7,
and `work_lanes((n, 6))` is workspace. Neither checks its indices.
"""

from __future__ import annotations

import operator
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_cast
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import models, overload, register_model

from panda_dynamics_ros.dynamics.kernels.scratch import intrinsic, on_stack, sizes

LANES = 8


class Lanes(types.Type):
    """Eight float64 numbers, one of each state; a float64 converts to eight equal ones."""

    def __init__(self) -> None:
        super().__init__(f"Lanes({LANES})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Conversion | None:
        """A float64 is converted wherever lanes are expected."""
        return Conversion.safe if other == types.float64 else None


lanes_type = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), LANES))


@lower_cast(types.float64, lanes_type)
def _splat(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    vector = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), ir.Undefined)
    first = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, vector, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _define_operator(instruction: str, *operators: Any) -> None:
    """Lanes op Lanes as one vector instruction, without reordering and without fused multiply-add."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    arguments = (lanes_type,) * (1 if instruction == "fneg" else 2)
    for op in operators:
        template = type("LanesTemplate", (ConcreteTemplate,), {"cases": [signature(lanes_type, *arguments)]})
        infer_global(op)(template)
        lower_builtin(op, *arguments)(lower)


_define_operator("fadd", operator.add, operator.iadd)
_define_operator("fsub", operator.sub, operator.isub)
_define_operator("fmul", operator.mul, operator.imul)
_define_operator("fneg", operator.neg)


class LaneArray(types.Type):
    """An array of `ndim` dimensions whose entries are lanes; they run along the first or last axis of `array`."""

    def __init__(self, ndim: int, first: bool) -> None:
        self.ndim, self.first, self.array = ndim, first, types.Array(types.float64, ndim + 1, "C")
        super().__init__(f"LaneArray({ndim}, {first})")


@register_model(LaneArray)
class _LaneArrayModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, [("array", fe_type.array), ("start", types.intp)])


@intrinsic
def state_lanes(typingctx: Any, array: Any, k: Any) -> Any:
    """Rows k .. k + 7 of an array of states."""
    if not isinstance(array, types.Array) or not isinstance(k, types.Integer):
        return None
    return _lane_array(types.Array(types.float64, array.ndim, "C"), first=True)


@intrinsic
def _last_axis_lanes(typingctx: Any, array: Any, start: Any) -> Any:
    return _lane_array(array, first=False)


def _lane_array(array: Any, first: bool) -> Any:
    result = LaneArray(array.ndim - 1, first)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        struct = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        struct.array, struct.start = args
        return impl_ret_borrowed(context, builder, sig.return_type, struct._getvalue())

    return result(array, types.intp), codegen


@intrinsic
def work_lanes(typingctx: Any, shape: Any) -> Any:
    """Workspace of this shape, a tuple, on the stack."""
    array_type = types.Array(types.float64, len(shape) + 1, "C")

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        struct = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        full = [*sizes(context, builder, sig.args[0], args[0]), context.get_constant(types.intp, LANES)]
        struct.array = on_stack(context, builder, array_type, full)
        struct.start = context.get_constant(types.intp, 0)
        return struct._getvalue()

    return LaneArray(len(shape), False)(shape), codegen


def _pointers(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> list[Any]:
    """Pointers to the eight numbers of one entry."""
    struct = cgutils.create_struct_proxy(array_type)(context, builder, value=array)
    inner = cgutils.create_struct_proxy(array_type.array)(context, builder, value=struct.array)
    kinds, values = [index_type], [index]
    if isinstance(index_type, types.BaseTuple):
        kinds = [*cast(Any, index_type)]
        values = [builder.extract_value(index, k) for k in range(len(kinds))]
    where = [context.cast(builder, value, kind, types.intp) for kind, value in zip(kinds, values, strict=True)]
    found = []
    for lane in range(LANES):
        lane_index = builder.add(struct.start, context.get_constant(types.intp, lane))
        full = [lane_index, *where] if array_type.first else [*where, lane_index]
        found.append(cgutils.get_item_pointer(context, builder, array_type.array, inner, full))
    return found


def _vector_pointer(builder: Any, pointers: list[Any]) -> Any:
    return builder.bitcast(pointers[0], ir.VectorType(ir.DoubleType(), LANES).as_pointer())


@intrinsic
def _load(typingctx: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        if not array.first:
            return builder.load(_vector_pointer(builder, pointers), align=8)
        vector = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), ir.Undefined)
        for lane, pointer in enumerate(pointers):
            vector = builder.insert_element(vector, builder.load(pointer), ir.Constant(ir.IntType(32), lane))
        return vector

    return lanes_type(array, index), codegen


@intrinsic
def _store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        if not array.first:
            builder.store(args[2], _vector_pointer(builder, pointers), align=8)
        else:
            for lane, pointer in enumerate(pointers):
                builder.store(builder.extract_element(args[2], ir.Constant(ir.IntType(32), lane)), pointer)
        return context.get_dummy_value()

    return types.void(array, index, lanes_type), codegen


@overload(operator.getitem)
def _getitem(array, index):
    if isinstance(array, LaneArray):
        return lambda array, index: _load(array, index)
    return None


@overload(operator.setitem)
def _setitem(array, index, value):
    if isinstance(array, LaneArray):
        return lambda array, index, value: _store(array, index, value)
    return None


@intrinsic
def lane(typingctx: Any, x: Any, k: Any) -> Any:
    """Number k of eight."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(lanes_type, types.intp), codegen


@intrinsic
def with_lane(typingctx: Any, x: Any, k: Any, value: Any) -> Any:
    """x with number k replaced."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], args[1])

    return lanes_type(lanes_type, types.intp, types.float64), codegen


@intrinsic
def lanes_of(typingctx: Any, x: Any) -> Any:
    """Eight times x."""
    return lanes_type(lanes_type), lambda context, builder, sig, args: args[0]
