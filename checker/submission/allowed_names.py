"""Every name of Triton that a kernel may use, and what to write instead of some that it may not."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPES = _names(
    """
    int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8e4nv float8e5
    """
)

FUNCTIONS = DTYPES | _names(
    """
    program_id num_programs arange zeros zeros_like full cast load store atomic_add atomic_max atomic_min
    atomic_xchg atomic_cas atomic_and atomic_or atomic_xor dot trans permute reshape view ravel expand_dims
    broadcast broadcast_to join split interleave cat flip gather where maximum minimum clamp abs add sub mul
    fdiv div_rn cdiv umulhi fma exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos erf floor ceil sigmoid max min sum
    argmax argmin xor_sum reduce_or cumsum cumprod sort reduce associative_scan histogram range static_range
    static_assert static_print device_print device_assert multiple_of max_contiguous max_constancy assume
    debug_barrier swizzle2d constexpr make_block_ptr advance make_tensor_descriptor load_tensor_descriptor
    store_tensor_descriptor condition squeeze unsqueeze topk bitonic_merge
    """
)
"""What may be called as ``tl.NAME(...)``; dtypes are values."""

MATH = _names(
    """
    exp exp2 log log2 sqrt sqrt_rn rsqrt sin cos erf floor ceil abs fma fdiv div_rn umulhi
    """
)
"""What may be called as ``tl.math.NAME(...)``."""

LIBDEVICE = _names(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh div_rn erf erfc exp exp10 exp2 expm1
    fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_powf fast_sinf fast_tanf
    fdim finitef floor fma fmod hypot isfinited isinf isnan log log10 log1p log2 nearbyint normcdf pow rcbrt
    rcp_rn remainder rint round rsqrt rsqrt_rn signbit sin sinh sqrt sqrt_rn tan tanh trunc
    """
)
"""What may be called as ``libdevice.NAME(...)``, from any of `LIBDEVICES`."""

LIBDEVICES = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
"""The libdevice modules for any GPU, and for NVIDIA's."""

MODULES = frozenset(
    {"triton", "triton.language", "triton.language.math", "triton.language.extra", "triton.language.extra.cuda"}
)
MODULES |= frozenset(LIBDEVICES)
"""The modules of Triton that may be imported, under any name."""

TRITON = frozenset({"cdiv", "next_power_of_2"})
"""What may be called as ``triton.NAME(...)``."""

TAKE_A_HELPER = frozenset({"reduce", "associative_scan"})
"""Functions of `tl` that take a @triton.jit helper as an argument."""

METHODS = _names(
    """
    load store gather scatter to cast trans permute reshape view ravel expand_dims broadcast_to split flip gather sum max min argmax
    argmin xor_sum cumsum cumprod sort reduce associative_scan histogram exp exp2 log log2 sqrt sqrt_rn rsqrt
    sin cos erf floor ceil abs sigmoid cdiv fdiv logical_and logical_or atomic_add atomic_max atomic_min
    atomic_xchg atomic_cas atomic_and atomic_or atomic_xor is_floating is_fp16 is_bf16 is_fp32 is_fp64 is_int is_int32 is_int64 is_ptr
    """
)
"""What may be called on a value: ``x.sum(axis=0)``."""

ATTRIBUTES = frozenset(
    {"dtype", "shape", "T", "element_ty", "numel", "primitive_bitwidth", "scalar", "strides", "block_shape"}
)
"""What may be read from a value: ``x.dtype``, ``y_ptr.dtype.element_ty``."""

BUILTINS = frozenset({"range", "min", "max", "float", "int", "len"})
"""Python's own functions that Triton knows."""

_RANDOM = "a kernel of this course draws no random numbers: its output has to be the same in every run"
_TYPE = "it is a type that the compiler works with: write tl.float32 and its like, x.dtype, or x_ptr.dtype.element_ty"
_FLOAT8 = "this course computes in float32, float16 and bfloat16: 8-bit floats are tl.float8e4nv and tl.float8e5"
INSTEAD: dict[str, str] = {
    **dict.fromkeys(["rand", "rand4x", "randint", "randint4x", "randn", "randn4x", "philox", "philox_impl"], _RANDOM),
    **dict.fromkeys(("pair_uniform_to_normal", "uint_to_uniform_float"), _RANDOM),
    **dict.fromkeys(
        ["block_type", "const", "constexpr_type", "dtype", "pi32_t", "str_to_ty", "tuple_type", "void"], _TYPE
    ),
    **dict.fromkeys(["float8e4b15", "float8e4b8", "float8e5b16"], _FLOAT8),
    **dict.fromkeys(("atomic_load", "atomic_poll"), "use tl.load: programs of this course do not wait for one another"),
    "atomic_store": "use tl.store: programs of this course do not wait for one another",
    "aggregate_replace": "a kernel works with tensors, numbers and tuples: write the values out",
    "expect_zero": "it is a hint to the compiler that this course has no use for: leave it out",
    "dot_scaled": f"{_FLOAT8}, and tl.dot multiplies them: scale its result",
    "map_elementwise": "the functions of `tl` work lane by lane already: write the arithmetic on whole tiles, with tl.where for a choice in each lane",
    "PropagateNan": "leave the option out: tl.where(x != x, x, tl.maximum(x, y)) keeps a NaN of x",
    "TRITON_MAX_TENSOR_NUMEL": "write the number itself: a tile holds at most 1,048,576 values",
    "slice": "write the slice itself: x[:, None]",
    "tuple": "write the tuple itself: (a, b)",
    "to_tensor": "a number becomes a scalar by being assigned: write the number, or tl.full((), 1.0, tl.float32)",
    "tensor_descriptor": "make one in the kernel: tl.make_tensor_descriptor(x_ptr, [M, N], [stride_xm, 1], [BLOCK_M, BLOCK_N])",
    "tensor_descriptor_type": _TYPE,
    "softmax": "tl.softmax is what this course builds: write it with tl.max, tl.exp and tl.sum",
    "inline_asm_elementwise": "inline assembly is not allowed: write it with the functions of `tl`",
    "tensor": "`tl.tensor` is a type: make values with tl.zeros, tl.full, tl.arange or tl.load",
    "pointer_type": "a kernel may only use the pointers it is given: add offsets to x_ptr",
    "type": "write x_ptr.dtype.element_ty for the type that a pointer points at, and x.dtype for a tensor's",
    "handle": "a tensor's insides are not for kernels: work with the tensor itself",
    "item": "a scalar of Triton is already a number: leave .item() out",
    "size": "write x.shape[0], or use the constexpr that the tile was made with",
}
"""Hints for names that are not allowed."""

PYTHON_INSTEAD: dict[str, str] = {
    "print": 'use tl.device_print("x", x)',
    "sum": "use tl.sum(x, axis=0)",
    "abs": "use tl.abs(x)",
    "pow": "multiply, or use tl.exp2(y * tl.log2(x))",
    "round": "use tl.floor(x + 0.5)",
    "bool": "compare instead: x != 0",
    "list": "write the shape or tuple out, as in (BLOCK_M, BLOCK_N)",
    "tuple": "write the tuple out, as in (a, b)",
    "zip": "index one range in a loop",
    "enumerate": "use `for i in range(...)`",
    "isinstance": "use a tl.constexpr flag",
    "getattr": "write the attribute out",
    "hasattr": "use a tl.constexpr flag",
    "all": "use tl.min over the values",
    "any": "use tl.max over the values",
}

BOUND_TO_A_SESSION = frozenset({"exit", "quit", "help", "license", "credits", "copyright", "display", "get_ipython"})
"""Names that Python or IPython adds to the builtins of a session."""

STATEMENTS: Mapping[type[ast.stmt], str] = {
    ast.FunctionDef: "a function inside a function: write the helper outside, with @triton.jit above it",
    ast.AsyncFunctionDef: "a function inside a function: write the helper outside, with @triton.jit above it",
    ast.ClassDef: "a class: a kernel works with tensors and numbers only",
    ast.Import: "an import: a kernel already has `tl`, and can use nothing else",
    ast.ImportFrom: "an import: a kernel already has `tl`, and can use nothing else",
    ast.Global: "`global`: return values from helpers instead",
    ast.Nonlocal: "`nonlocal`: return values from helpers instead",
    ast.Try: "`try`: nothing can be caught on a GPU; guard the lanes with a mask instead",
    ast.TryStar: "`try`: nothing can be caught on a GPU; guard the lanes with a mask instead",
    ast.Raise: "`raise`: nothing can be raised on a GPU; use tl.static_assert for what is known at compile time",
    ast.With: "`with`: a kernel has nothing to open",
    ast.AsyncWith: "`with`: a kernel has nothing to open",
    ast.AsyncFor: "`async`: programs already run at the same time",
    ast.Delete: "`del`: a variable that is not used any more costs nothing",
    ast.Assert: "`assert`: use tl.static_assert(condition) for what is known at compile time",
    ast.Match: "`match`: use `if` and `elif`",
}

EXPRESSIONS: Mapping[type[ast.expr], str] = {
    ast.Lambda: "a lambda: write a helper with @triton.jit",
    ast.ListComp: "a comprehension: use tl.arange for the numbers 0, 1, 2, … or a `for` loop",
    ast.SetComp: "a comprehension: use tl.arange for the numbers 0, 1, 2, … or a `for` loop",
    ast.DictComp: "a comprehension: use tl.arange for the numbers 0, 1, 2, … or a `for` loop",
    ast.GeneratorExp: "a comprehension: use tl.arange for the numbers 0, 1, 2, … or a `for` loop",
    ast.NamedExpr: "`:=`: assign on a line of its own",
    ast.Await: "`await`: programs already run at the same time",
    ast.Yield: "`yield`: store the result with tl.store",
    ast.YieldFrom: "`yield`: store the result with tl.store",
    ast.JoinedStr: "an f-string: write plain text, and pass values as further arguments",
    ast.Set: "a set: a kernel works with tensors, numbers and tuples",
    ast.Dict: "a dict: a kernel works with tensors, numbers and tuples",
    ast.Starred: "`*`: write the values out one by one",
}


def no_python(name: str) -> str:
    instead = PYTHON_INSTEAD.get(name)
    return f"`{name}` is a Python function, which a kernel cannot call" + (f": {instead}" if instead else "")


def no_tl(name: str) -> str:
    meant = _nearest(name, FUNCTIONS, "tl.")
    return INSTEAD.get(name) or f"`tl.{name}` is not one of the functions of `tl` that this course uses{meant}"


def no_libdevice(name: str) -> str:
    return f"`{name}` is not one of the libdevice functions that this course simulates"


def no_math(name: str) -> str:
    if name in LIBDEVICE:
        return f"`tl.math.{name}` does not exist: it is tl.extra.libdevice.{name}"
    return f"`tl.math.{name}` is not one of the functions of `tl.math` that this course uses"


def no_attribute(name: str) -> str:
    if name.startswith("_"):
        return f"`.{name}` belongs to Python: a kernel cannot use it"
    meant = _nearest(name, METHODS | ATTRIBUTES, ".")
    return INSTEAD.get(name) or f"`.{name}` cannot be used in a kernel{meant}"


def _nearest(name: str, known: frozenset[str], before: str) -> str:
    """A question about the most similar name; empty if none is similar."""
    close = difflib.get_close_matches(name, sorted(known), 1, 0.7)
    return f": did you mean `{before}{close[0]}`?" if close else ""
