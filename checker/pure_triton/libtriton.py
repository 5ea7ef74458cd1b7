"""Stands in for Triton's C++ part, `triton._C.libtriton`, where there is no Triton wheel.

The simulator needs the names below from it: enumerations with their true members, the type of an argument, and classes that Triton
mentions in annotations. Triton's front end also needs a builder. Types and refusals are its own Python, so this builder only hands
out values and blocks, and makes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import ModuleType
from typing import Any

_MEMORY_ORDERS = "ACQUIRE_RELEASE ACQUIRE RELEASE RELAXED"
_UPDATES = "ADD FADD AND OR XOR XCHG MAX MIN UMIN UMAX"
ENUMS: dict[str, dict[str, dict[str, int]]] = {
    "ir": {
        "ATOMIC_OP": dict(zip(_UPDATES.split(), (4, 5, 1, 2, 3, 10, 6, 7, 9, 8), strict=True)),
        "CACHE_MODIFIER": {"NONE": 1, "CA": 2, "CG": 3, "WB": 4, "CS": 5, "WT": 6, "CV": 7},
        "DESCRIPTOR_REDUCE_KIND": {"ADD": 1, "AND": 6, "OR": 7, "XOR": 8, "MAX": 3, "MIN": 2, "INC": 4, "DEC": 5},
        "EVICTION_POLICY": {"NORMAL": 1, "EVICT_FIRST": 2, "EVICT_LAST": 3},
        "INPUT_PRECISION": {"TF32": 0, "TF32x3": 1, "IEEE": 2, "BF16x3": 3, "BF16x6": 4},
        "MEM_SEMANTIC": dict(zip(_MEMORY_ORDERS.split(), (4, 2, 3, 1), strict=True)),
        "MEM_SYNC_SCOPE": {"GPU": 1, "CTA": 2, "SYSTEM": 3},
        "PADDING_OPTION": {"PAD_ZERO": 1, "PAD_NAN": 2},
        "PROPAGATE_NAN": {"NONE": 0, "ALL": 65535},
        "ROUNDING_MODE": {"RTZ": 0, "RTNE": 1},
        "ScaleDotElemTypeTY": {"E4M3": 0, "E5M2": 1, "E2M3": 2, "E3M2": 3, "E2M1": 4, "BF16": 5, "FP16": 6},
    },
    "interpreter": {
        "MEM_SEMANTIC": {name: i for i, name in enumerate(_MEMORY_ORDERS.split())},
        "RMW_OP": {name: i for i, name in enumerate(_UPDATES.split())},
    },
}
"""By module: each enumeration with its members."""


class Value:
    """Anything that a builder makes: a number, a type, an operation.

    Types are Triton's own, in Python; `type` is what `tl.tensor` says of a number, None if it says nothing.
    """

    def __init__(self, results: int = 1, regions: Sequence[Region] = ()) -> None:
        self.results, self.regions = results, regions
        self.type: Any = None

    def get_type(self) -> Value:
        return TYPE

    def get_result(self, number: int) -> Value:
        return Value()

    def get_num_results(self) -> int:
        return self.results

    def get_region(self, number: int) -> Region:
        return self.regions[number]

    def get_body(self, number: int) -> Block:
        return self.regions[number].block

    def get_then_block(self) -> Block:
        return self.regions[0].block

    def get_else_block(self) -> Block:
        return self.regions[1].block

    def get_before(self) -> Region:
        return self.regions[0]

    def get_after(self) -> Region:
        return self.regions[1]

    def get_induction_var(self) -> Value:
        return Value()

    def verify(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """`set_attr`, `set_loc` and the like, which change nothing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    return None


TYPE = Value()


class Block(Value):
    """A block of operations, of which only its end is known: whether it returns or branches."""

    def __init__(self, parent: Region | None = None) -> None:
        super().__init__()
        self.parent, self.ended = parent, False

    def arg(self, number: int) -> Value:
        return Value()

    def get_parent(self) -> Region | None:
        return self.parent

    def has_terminator(self) -> bool:
        return self.ended

    has_return = has_terminator

    def merge_block_before(self, block: Block) -> None:
        block.ended |= self.ended


class Region:
    def __init__(self) -> None:
        self.block = Block(self)

    def size(self) -> int:
        return 1


class Function(Value):
    """A jitted function; a call of it has as many results as its type says."""

    def __init__(self, type_: FunctionType) -> None:
        super().__init__()
        self.reset_type(type_)

    def reset_type(self, type_: FunctionType) -> None:
        self.arguments, self.results = len(type_.arguments), len(type_.results)

    def get_num_args(self) -> int:
        return self.arguments

    def add_entry_block(self) -> Block:
        return Block()

    def args(self, number: int) -> Value:
        return Value()


class FunctionType:
    def __init__(self, arguments: Sequence[Value], results: Sequence[Value]) -> None:
        self.arguments, self.results = arguments, results


class Module(Value):
    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[str, Function] = {}

    def has_function(self, name: str) -> bool:
        return name in self.functions

    def get_function(self, name: str) -> Function:
        return self.functions[name]


class Builder:
    """What `code_generator.py` and `semantic.py` call. An operation that is not listed gives one value."""

    def __init__(self, context: object = None) -> None:
        self.block = Block()

    def create_module(self) -> Module:
        return Module()

    def get_function_ty(self, arguments: Sequence[Value], results: Sequence[Value]) -> FunctionType:
        return FunctionType(arguments, results)

    def get_or_insert_function(self, module: Module, name: str, type_: FunctionType, *_: object) -> Function:
        return module.functions.setdefault(name, Function(type_))

    def call(self, function: Function, arguments: Sequence[Value]) -> Value:
        return Value(function.results)

    def create_block(self) -> Block:
        return Block()

    def create_block_with_parent(self, region: Region, types: Sequence[Value]) -> Block:
        region.block = Block(region)
        self.block = region.block
        return region.block

    def get_insertion_block(self) -> Block:
        return self.block

    get_insertion_point = get_insertion_block

    def set_insertion_point_to_start(self, block: Block) -> None:
        self.block = block

    set_insertion_point_to_end = restore_insertion_point = set_insertion_point_to_start

    def create_if_op(self, types: Sequence[Value], condition: Value, with_else: bool) -> Value:
        _need_one_truth_value("scf.if", condition)
        return Value(len(types), (Region(), Region()))

    def create_for_op(self, first: Value, end: Value, step: Value, carried: Sequence[Value]) -> Value:
        return Value(len(carried), (Region(),))

    def create_while_op(self, types: Sequence[Value], carried: Sequence[Value]) -> Value:
        return Value(len(carried), (Region(), Region()))

    def create_reduce(self, operands: Sequence[Value], axis: int) -> Value:
        return Value(len(operands), (Region(),))

    def create_scan(self, operands: Sequence[Value], axis: int, reverse: bool) -> Value:
        return Value(len(operands), (Region(),))

    def create_map_elementwise(self, inputs: Sequence[Value], results: Sequence[Value], pack: int) -> Value:
        return Value(len(results), (Region(),))

    def create_split(self, value: Value) -> tuple[Value, Value]:
        return Value(), Value()

    def ret(self, values: Sequence[Value]) -> None:
        self.block.ended = True

    def create_branch(self, *_: object) -> None:
        self.block.ended = True

    def create_cond_branch(self, condition: Value, *_: object) -> None:
        _need_one_truth_value("cf.cond_br", condition)
        self.block.ended = True

    def create_condition_op(self, condition: Value, arguments: Sequence[Value]) -> None:
        _need_one_truth_value("scf.condition", condition)

    def create_masked_load(self, pointer: Value, mask: Value, *_: object) -> Value:
        _need_truth_values("tt.load", mask)
        return Value()

    def create_masked_store(self, pointer: Value, value: Value, mask: Value, *_: object) -> Value:
        _need_truth_values("tt.store", mask)
        return Value()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith(("create_", "get_")):
            return _one_value
        if name.startswith("set_"):
            return _nothing
        raise AttributeError(name)


def _need_truth_values(operation: str, value: Value) -> None:
    """What the verifier of Triton's C++ part would refuse, in its words. Raises ValueError."""
    if value.type is not None and not value.type.scalar.is_int1():
        raise ValueError(f"error: '{operation}' op operand #1 must be 1-bit signless integer, but got '{value.type}'")


def _need_one_truth_value(operation: str, value: Value) -> None:
    _need_truth_values(operation, value)
    if value.type is not None and value.type.is_block():
        raise ValueError(
            f"error: '{operation}' op operand #0 must be 1-bit signless integer, but got 'tensor{value.type}'"
        )


def _one_value(*_: object, **__: object) -> Value:
    return Value()


def argument_type(backend: object, argument: Any, const: bool, specialize: bool, align: bool) -> tuple[str, Any]:
    """The type of a kernel's argument in Triton's notation, e.g. ``*fp32``, and what a launch would specialise."""
    from triton._utils import canonicalize_dtype

    if argument is None or (specialize and argument is not True and isinstance(argument, int) and argument == 1):
        return "constexpr", argument
    if isinstance(argument, bool):
        return "u1", None
    if isinstance(argument, int):
        wide = "i64" if argument < 2**63 else "u64"
        kind = "i32" if -(2**31) <= argument < 2**31 else wide
        return kind, "D" if specialize and align and argument % 16 == 0 else ""
    if isinstance(argument, float):
        return "fp32", None
    if hasattr(argument, "base") and hasattr(argument, "block_shape"):
        return f"tensordesc<{canonicalize_dtype(argument.base.dtype)}{list(argument.block_shape)}>", None
    if hasattr(argument, "data_ptr"):
        aligned = specialize and align and argument.data_ptr() % 16 == 0
        return f"{'*k' if const else '*'}{canonicalize_dtype(argument.dtype)}", "D" if aligned else ""
    if hasattr(argument, "value"):
        return "constexpr", argument.value
    raise TypeError(f"Unsupported type: {type(argument)}")


def modules() -> dict[str, ModuleType]:
    """`triton._C.libtriton` and its parts, by their names."""
    parts: dict[str, dict[str, Any]] = {
        "": {
            "getenv": lambda name, default=None: os.environ.get(name, default),
            "getenv_bool": _flag,
            "get_cache_invalidating_env_vars": dict,
            "native_specialize_impl": argument_type,
        },
        "ir": {
            "builder": Builder,
            "value": Value,
            **dict.fromkeys(("block_argument", "type", "block_type", "pointer_type"), Value),
            "context": Value,
            "load_dialects": _nothing,
            "make_attr": _one_value,
        },
        "gluon_ir": {"GluonOpBuilder": Builder},
        "interpreter": {},
        "linear_layout": {"LinearLayout": Value},
        "passes": {},
        "llvm": {},
        "nvidia": {"load_dialects": _nothing},
    }
    root = "triton._C.libtriton"
    made = {f"{root}.{name}".rstrip("."): ModuleType(f"{root}.{name}".rstrip(".")) for name in parts}
    for name, contents in parts.items():
        module = made[f"{root}.{name}".rstrip(".")]
        vars(module).update(contents)
        for enum, members in ENUMS.get(name, {}).items():
            setattr(module, enum, IntEnum(enum, members))
        if name:
            setattr(made[root], name, module)
    # the front end asks Gluon for two names
    gluon, language = (ModuleType(f"triton.experimental.gluon{part}") for part in ("", ".language"))
    vars(language).update(static_assert=object(), static_print=object())
    vars(gluon).update(language=language)
    return {**made, "triton._C": ModuleType("triton._C"), gluon.__name__: gluon, language.__name__: language}


def _flag(name: str, default: bool | None = None) -> bool | None:
    text = os.environ.get(name)
    return default if text is None else text.lower() in ("1", "true", "on", "yes", "y")
