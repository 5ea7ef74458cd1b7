"""Explains Triton's compile errors: what is wrong, on which of the learner's lines, and what to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from checker.compiler.request import CompileRequest, gpu_name

if TYPE_CHECKING:
    from triton import JITFunction

Kind = Literal[
    "constexpr", "power_of_two", "range", "dot_too_small", "dot", "loop_type", "branch_type", "return_type", "dtype",
    "pointer", "shape", "axis", "condition", "undefined_name", "unknown_function", "global", "not_jitted",
    "arguments", "unsupported_syntax", "static_assert", "too_large", "shared_memory", "target", "unknown",
]  # fmt: skip
"""What is broken: `CompileResult.kind`."""


@dataclass(frozen=True)
class Failure:
    kind: Kind
    message: str
    raw: str
    line: int | None = None
    only_here: bool = False


@dataclass(frozen=True)
class Place:
    """Where the compiler stopped: the line, its text, and the innermost expression if known."""

    line: int | None
    code: str = ""
    helper: str = ""
    node: ast.AST | None = field(default=None, compare=False)


# the words --------------------------------------------------------------------------------------------

Say = Callable[[re.Match[str], Place, CompileRequest], str | None]


@dataclass(frozen=True)
class Rule:
    """`pattern` is searched in Triton's innermost message; `message` may return None to pass on to later rules."""

    kind: Kind
    pattern: re.Pattern[str]
    message: Say
    only_here: bool = False


def _rule(kind: Kind, pattern: str, message: str | Say, only_here: bool = False) -> Rule:
    """`message` may be a sentence; {1}, {2} stand for the pattern's groups, {gpu} for the GPU, {helper} for " in `name`"."""

    def say(match: re.Match[str], place: Place, request: CompileRequest) -> str:
        assert isinstance(message, str)
        groups = [_type(group or "") for group in match.groups()]
        helper = f" in `{place.helper}`" if place.helper else ""
        return message.format(match[0], *groups, gpu=gpu_name(request.capability), helper=helper)

    return Rule(kind, re.compile(pattern, re.DOTALL), say if isinstance(message, str) else message, only_here)


_TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "int1": "bool"}


def _type(text: str) -> str:
    """Triton's type name in the learner's terms: ``<['16'], fp32>`` becomes "a [16] tile of float32"."""
    text = text.strip().replace("triton.language.", "").replace("[]", "")
    text = re.sub(r"'?constexpr\[(\d+)\]'?|'(\d+)'", lambda m: m[1] or m[2], text)
    if tile := re.fullmatch(r"<\[(.*)\], (.*)>", text):
        return f"a [{tile[1]}] tile of {_type(tile[2])}"
    if pointer := re.fullmatch(r"pointer<(.*)>", text):
        return f"a pointer to {_type(pointer[1])}"
    return _TYPES.get(text, text)


def _operands(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    left, right = _type(match[1]), _type(match[2])
    if "pointer" in left + right:
        return (
            f"{left} and {right} cannot be combined here. To a pointer only whole numbers can be added (x_ptr + offs_n); "
            f"to compute with the values, read them first with tl.load."
        )
    return f"{left} and {right} cannot be combined with this operator: `&`, `|`, `<<` and `%` need whole numbers or comparisons."


def _arguments(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    if "unexpected keyword" in match[0]:
        name = re.search(r"keyword argument '(\w+)'", match[0])
        hint = {
            "dim": " (Triton calls it `axis`)",
            "keepdim": " (Triton calls it `keep_dims`)",
            "default": " (tl.load calls it `other`)",
        }
        unknown = name[1] if name else "?"
        return (
            f"This function has no argument called `{unknown}`{hint.get(unknown, '')}. Look at the call: {place.code}"
        )
    return f"This call does not have the arguments the function needs ({match[0].strip()}): {place.code}"


def _loop_type(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    name, before, after = match[1], _type(match[2]), _type(match[3])
    start = (
        f"`{name} = 0.0`" if "tile" not in after else f"`{name} = tl.zeros(...)` in the shape and dtype it will have"
    )
    return (
        f"`{name}` is {before} before the loop and {after} at the end of a turn. Its type and shape must stay the same in every turn: "
        f"start with {start}, or convert with .to(...) inside the loop."
    )


def _endless(match: re.Match[str], place: Place, request: CompileRequest) -> str | None:
    if not isinstance(place.node, ast.While):
        return None
    return (
        f"`while {ast.unparse(place.node.test)}` tests something that is known before the kernel runs, so the loop has no end, "
        "and Triton has no `break`. Test a variable that changes in the loop, as in `while start_n < N:`, or use `for`."
    )


def _dot_dtypes(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    call = place.node
    both = [ast.unparse(operand) for operand in call.args[:2]] if isinstance(call, ast.Call) else []
    if len(both) != 2 or max(map(len, both)) > 20:
        both = ["p", "v"]
    inputs = sorted({_type(kind[1:]) for kind in request.signature.values() if kind in ("*fp16", "*bf16", "*fp32")})
    seen = f" (with {inputs[0]} inputs)" if len(inputs) == 1 else ""
    return (
        f"Both operands of tl.dot must have the same dtype; these are {_type(match[1])} and {_type(match[2])}{seen}. "
        f"Convert one, e.g. {both[0]}.to({both[1]}.dtype)."
    )


def _shared_data(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    used = int(match[1], 16) // 1024
    return f"This kernel keeps {used} KiB in shared memory, too much for {gpu_name(request.capability)}: use smaller tiles."


def _unsupported(match: re.Match[str], place: Place, request: CompileRequest) -> str:
    kind = match[1]
    instead = {
        "Break": "`break` does not exist in Triton: write the loop's bounds so that it ends where it should, or use `while` with a condition.",
        "Continue": "`continue` does not exist in Triton: put the rest of the loop's body under an `if`, or use a mask.",
        "Lambda": "A lambda does not exist in Triton: write a helper with @triton.jit.",
        "Dict": "A dict does not exist in Triton: use variables.",
    }
    return instead.get(
        kind,
        f"`{kind}` is Python that does not exist in Triton: use assignments, loops, ifs and the functions of `tl`.",
    )


RULES: tuple[Rule, ...] = (
    _rule("static_assert", r"^CompileTimeAssertionFailure: ?(.*)", "A tl.static_assert does not hold: {1}"),
    _rule("static_assert", r"Assertion condition could not be determined at compile-time|static_assert` requires", "tl.static_assert can only test what is known when the kernel is compiled (tl.constexpr); this condition depends on a run-time value."),
    # constexpr
    _rule("constexpr", r"arange's arguments must be of type tl\.constexpr", "tl.arange needs bounds that are known when the kernel is compiled. Use a tl.constexpr such as BLOCK_N for the tile, and a mask (offs_n < N) for its end."),
    _rule("constexpr", r"Shape element \d+ must have type `constexpr\[int\]`", "A tile's shape must be known when the kernel is compiled: use tl.constexpr parameters such as BLOCK_N, not a run-time number."),
    _rule("constexpr", r"used as tl\.static_range \w+ value is not a constexpr", "tl.static_range is written out when the kernel is compiled, so its bounds must be tl.constexpr: use `range` for a run-time bound."),
    _rule("constexpr", r"(\w+) is already defined\. constexpr cannot be reassigned|cannot reassign constexpr (\w+) in the loop", "A tl.constexpr cannot be given another value: use a new variable."),
    _rule("loop_type", r"Loop carried variable (\w+) changed type", "`{1}` cannot change in a loop, because it is a tl.constexpr or another fixed value before it: use a new variable."),
    _rule("constexpr", r"Loop carried variable (\w+) is not a triton value", "`{1}` cannot change in a loop: it is a fixed value (a tl.constexpr, None or a dtype) before it."),
    # sizes
    _rule("power_of_two", r"arange's range must be a power of 2", "tl.arange needs a length that is a power of two (16, 32, 64, …): take the next one and mask the lanes past the end."),
    _rule("power_of_two", r"Shape element \d+ must be a power of 2", "Every side of a tile must be a power of two (1, 2, 4, …, 16, 32, 64)."),
    _rule("range", r"arange's end argument must be greater than the start argument", "tl.arange(start, end) needs an end larger than its start."),
    _rule("range", r"arange.*must fit in 32 bits", "The bounds of tl.arange must fit in 32 bits."),
    _rule("range", r"For loop bounds and step must all be ints, are \((.*?)\)", "A loop's bounds and step must be whole numbers, and here they are ({1}): use `//` instead of `/`."),
    _rule("range", r"For (?:lower|upper) bound must be a scalar|For step must be a scalar", "A loop's bounds must be single numbers, not tiles."),
    _rule("range", r"Only `range` and `static_range` iterators", "A loop goes over range(...), tl.range(...) or tl.static_range(...); a tile is worked on as a whole, without a loop."),
    _rule("too_large", r"numel \((\d+)\) exceeds triton maximum tensor numel \((\d+)\)", "This tile has {1} elements, and Triton allows {2} at most: work through the data in smaller tiles."),
    # dot
    _rule("dot_too_small", r"Input shapes should have M >= (\d+), N >= (\d+) and K >= (\d+)", "tl.dot multiplies on tensor cores, which need tiles of at least 16 along the summed side (here M ≥ {1}, N ≥ {2}, K ≥ {3}): use larger tiles."),
    _rule("dot", r"Both operands must be same dtype\. Got (\w+) and (\w+)", _dot_dtypes),
    _rule("dot", r"[Ff]irst input \((.*?)\) and second input \((.*?)\) must have the same dtype", _dot_dtypes),
    _rule("dot", r"must have equal reduction dimensions|first input shape .* not compatible for matmul|reduction dim", "tl.dot(a, b) sums over the last side of a and the first of b, which must be the same length: [M, K] times [K, N]. Is a tl.trans missing?"),
    _rule("dot", r"must have equal ranks|must have same rank|2D or 3D", "tl.dot multiplies matrices: both operands must be tiles with two sides. For vectors use tl.sum(a * b)."),
    _rule("dot", r"accumulator shape is incompatible", "The accumulator of tl.dot must have the shape [M, N] of the product."),
    _rule("dot", r"Unsupported (?:lhs|rhs) dtype (\w+)", "tl.dot multiplies float16, bfloat16, float32 or int8 tiles, not {1}: convert with .to(tl.float16) or .to(tl.float32)."),
    _rule("arguments", r"input_precision must be one of \((.*?)\)\. Got (\w+)", 'input_precision="{2}" does not exist; choose one of {1}.'),
    # types
    _rule("loop_type", r"Loop-carried variable (\w+) has initial type (.*?) but is re-assigned to (.*?) in loop", _loop_type),
    _rule("branch_type", r"initial value for `(\w+)` is of type (.*?), but the (\w+) block redefines it as (.*?)['\")]*$", "`{1}` is {2} before the `if` and {4} after it. It must have the same type and shape in both cases: convert with .to(...), or start with a value of the same type (0.0 instead of 0)."),
    _rule("branch_type", r"Mismatched type for (\w+) between then block \((.*?)\) and else block \((.*?)\)", "`{1}` is {2} after the `if` part and {3} after the `else` part: it must have the same type and shape after both."),
    _rule("branch_type", r"Ternary expression with dynamic condition has inconsistent types (.*?) and (.*?)['\")]*$", "The two values of this `… if … else …` are {1} and {2}: they must have the same type."),
    _rule("return_type", r"(?:Return type mismatch|Inconsistent return types): (.*?) and (.*?)(?:\. Note|['\")]*$)", "This helper returns {1} in one place and {2} in another: every `return` must give the same type and shape."),
    _rule("pointer", r"Expected dtype \[(.*?)\] but got (pointer<.*?>)", "This function was given {2}, an address. Read the values first, with tl.load."),
    _rule("dtype", r"Expected dtype \[(.*?)\] but got (\w+)", "This function computes in float32 (or float64) and was given {2}: convert first, with x.to(tl.float32)."),
    _rule("target", r"type (\w+) not supported in this architecture", "{gpu} cannot compute with {1}: it came with later GPUs.", True),
    _rule("dtype", r"type object 'float' has no attribute|'str' object has no attribute 'scalar'|type object 'int' has no attribute", "This needs a dtype of Triton: tl.float32, tl.float16, tl.bfloat16, tl.int32, …"),
    # pointers
    _rule("pointer", r"Unsupported ptr type (.*?) in `tl\.(\w+)`", "tl.{2} needs addresses, and got {1}: add the offsets to a pointer, e.g. tl.{2}(x_ptr + offs_n, …)."),
    _rule("pointer", r"Value argument cannot be block type if pointer argument is not a block", "This stores a tile to a single address: add offsets to the pointer, e.g. tl.store(y_ptr + offs_n, …)."),
    _rule("pointer", r"(?:Mask|Other|`?mask`?|`?other`?) argument cannot be block type if pointer argument is not a block", "The address is a single one while mask or other is a tile: add offsets to the pointer, e.g. tl.load(x_ptr + offs_n, mask=…)."),
    _rule("arguments", r"`other` cannot be provided without `mask`", "`other` says what masked lanes hold, so tl.load needs a mask with it."),
    # conditions
    _rule("condition", r"Boolean value of Tensor with more than one value is ambiguous", "An `if` decides for the whole program, and this condition has a truth value per lane. Choose lane by lane with tl.where(condition, a, b)."),
    _rule("condition", r"'scf\.(?:if|condition)' op operand #0 must be 1-bit signless integer, but got 'tensor", "This condition has a truth value per lane, and the program needs a single one. Choose lane by lane with tl.where(condition, a, b)."),
    _rule("condition", r"conditionals can only accept values of type \{(.*?)\}, not objects of type (\w+)", "A condition must be a whole number, a truth value or None, not {2}."),
    _rule("dtype", r"'tt\.(load|store)' op operand #\d+ must be 1-bit signless integer", "A mask must hold truth values: compare something, as in offs_n < N."),
    # shapes
    _rule("shape", r"Cannot make_shape_compatible: incompatible dimensions at index (\d+): (\d+) and (\d+)", "Two tiles do not fit: along axis {1} one is {2} long and the other {3}. Is an axis missing, as in m_i[:, None]?"),
    _rule("shape", r"Expected (\w+) argument to have shape \[(.*)\] but got \[(.*)\]", "The {1} here has the shape [{3}], and [{2}] is needed: addresses, values and mask must have one shape."),
    _rule("shape", r"Cannot broadcast, rank mismatch|Cannot broadcast, the expanded size|rank mismatch|cannot view block of|reshape\(\) cannot change total number", "These shapes do not fit together: compare the sides of the tiles in this line."),
    _rule("axis", r"invalid axis (-?\d+)\. Expected (-?\d+) <= axis < (\d+)", "There is no axis {1}: the tile has {3} of them, counted from 0."),
    _rule("axis", r"permute dims must have the same length as input shape", ".T and tl.trans swap the two sides of a tile; this tile does not have two sides. x[:, None] makes a column of a vector."),
    _rule("unsupported_syntax", r"unsupported tensor index", "A tile cannot be cut up or indexed with numbers: only x[:, None] and x[None, :] exist. Load the part you need with its own offsets, or pick with tl.where and tl.sum."),
    # names
    _rule("undefined_name", r"NameError\(['\"](\w+) is not defined", "`{1}` is not defined here{helper}. Check the spelling; a variable that is first assigned inside a loop or an `if` does not exist after it, so give it a value before."),
    _rule("global", r"Cannot access global variable (\w+) from within", "`{1}` is an ordinary Python value from outside the kernel. Write `{1} = tl.constexpr(...)`, or pass it as a parameter."),
    _rule("not_jitted", r"Unsupported function referenced: <function (\w+)", "`{1}` is an ordinary Python function: write @triton.jit above it so that the kernel can call it."),
    _rule("unknown_function", r"module 'triton\.language(?:\.\w+)?' has no attribute '(make_block_ptr|advance)'|Block pointers have been removed", "Block pointers are gone since Triton 3.8: use tl.make_tensor_descriptor, or pointers with a mask."),
    _rule("unknown_function", r"module 'triton\.language\.math' has no attribute '(\w+)'", "`tl.math.{1}` does not exist in this Triton. The functions of CUDA's library are called as tl.extra.libdevice.{1}."),
    _rule("unknown_function", r"module 'triton\.language\.extra\.(?:cuda\.)?libdevice' has no attribute '(\w+)'", "libdevice has no function `{1}`. Check the spelling."),
    _rule("dtype", r"^\(triton\.language\.(\w+)(?:, triton\.language\.\w+)*\)$", "This function of libdevice does not take {1}: convert to float32 first, with .to(tl.float32)."),
    _rule("unknown_function", r"module 'triton\.language(?:\.\w+)?' has no attribute '(\w+)'", "`tl.{1}` does not exist. Check the spelling, or look at the list of functions in the notebook."),
    _rule("unsupported_syntax", r"'tensor' object has no attribute '__pow__'|unsupported operand type\(s\) for \*\*", "`**` does not work on tensors: write x * x, or tl.exp2(y * tl.log2(x))."),
    _rule("unsupported_syntax", r"'tensor' object has no attribute 'values'|cannot unpack non-iterable", "A tile cannot be unpacked into several variables: only a tuple that a helper returns can."),
    _rule("unsupported_syntax", r"'MatMult' object has no attribute|operator 'MatMult'", "`@` does not exist in Triton: use tl.dot(a, b)."),
    _rule("pointer", r"Did you forget to add @triton\.jit", lambda m, p, r: "A pointer cannot be indexed with [ ]: add the offsets and read, as in tl.load(x_ptr + offs_n)." if "[" in p.code else None),
    _rule("constexpr", r"Did you forget to add @triton\.jit", "This argument must be known when the kernel is compiled (a literal number or a tl.constexpr)."),
    _rule("unknown_function", r"'tensor' object has no attribute '(\w+)'", "A tensor of Triton has no `.{1}`: look at the functions of `tl` in the notebook."),
    _rule("condition", r"'constexpr' object has no attribute 'handle'", _endless),
    _rule("unknown_function", r"'(\w+)' object has no attribute '(\w+)'", "This value has no `.{2}`: it is a plain {1} here, because the compiler knows it (a constexpr, or a size that is 1). Leave the conversion out, or use a tensor."),
    # syntax
    _rule("unsupported_syntax", r"unsupported AST node type: (\w+)", _unsupported),
    _rule("unsupported_syntax", r"simultaneous multiple comparison is not supported", "Triton compares two values at a time: write (0 <= x) & (x < N)."),
    _rule("unsupported_syntax", r"comprehensions? (?:are|is) (?:not )?supported", "A list comprehension does not exist in Triton: use tl.arange for 0, 1, 2, … or a `for` loop."),
    _rule("unsupported_syntax", r"__setitem__ is not supported", "A tile cannot be changed in place: make a new one with tl.where, or write to memory with tl.store."),
    _rule("unsupported_syntax", r"Cannot have `return` statements inside `while` or `for`", "`return` inside a loop does not exist in Triton: put the rest under an `if`."),
    _rule("unsupported_syntax", r"nested function definition|StopIteration\(\)", "A function inside a function does not exist in Triton: write the helper outside, with @triton.jit above it."),
    _rule("unsupported_syntax", r"AST (?:unary|binary|boolean|comparison) operator '(\w+)' is not", "This operator ({1}) does not exist in Triton."),
    _rule("unsupported_syntax", r"recursion|KeyError\(['\"][\w.]+__", "A helper that calls itself cannot be compiled: use a loop."),
    _rule("unsupported_syntax", r"'tt\.return'", "A kernel returns nothing: write its result to memory with tl.store."),
    # calls
    _rule("arguments", r"[^\n]*(?:missing \d+ required|missing a required argument|got an unexpected keyword argument|takes \d+ positional|too many positional|multiple values for argument|requires at least \d+ values)[^\n]*", _arguments),
    _rule("not_jitted", r"cannot convert (?:JITFunction\(\w+:(\w+)\))", "`{1}` is a helper: call it, as in {1}(...)."),
    _rule("pointer", r"invalid operands of type (.*?) and (.*?)['\")]*$", lambda m, p, r: _operands(m, p, r) if "pointer" in m[0] else None),
    _rule("dtype", r"invalid operands of type (.*?) and (.*?)['\")]*$", _operands),
    _rule("dtype", r"cannot convert (.*?) of type (.*?) to tensor", "This value cannot be put in a tensor: use numbers and tensors only."),
    # one GPU only
    _rule("target", r"(?:requires|supported (?:only )?on) \.?target(?: architecture)? (sm_\d+\w*)", "{gpu} lacks an instruction that this kernel needs (it came with {1}).", True),
    _rule("target", r"Feature '(.*?)' requires|ptxas[^\n]*(?:not supported on|requires) \.?(?:target|sm_)", "{gpu} lacks an instruction that this kernel needs.", True),
    _rule("shared_memory", r"uses too much shared data \((0x\w+) bytes", _shared_data, True),
    _rule("unknown", r"(?:ptxas[^\n]*?(?:error|fatal)\s*:?\s*|ptxas died[^\n]*?)([^\n]+)", "NVIDIA's assembler, which comes after Triton, stopped for {gpu}: {1}"),
    _rule("target", r"num_ctas > 1 requires", "{gpu} has no clusters of programs (num_ctas > 1).", True),
    _rule("target", r"out of resource|exceeds? .*(?:shared|register)|too many resources", "{gpu} has too few registers or too little shared memory for these tiles: use smaller ones.", True),
)  # fmt: skip
"""Tried in this order."""


# from an exception to the words ----------------------------------------------------------------------------------------


def translate(error: BaseException, kernel: JITFunction, request: CompileRequest, diagnostics: str = "") -> Failure:
    """The failure behind an exception of ``triton.compile``; `diagnostics` is the compiler's stderr."""
    chain = _chain(error)
    place = _place(chain, kernel) if hasattr(error, "node") else _place_of_diagnostics(diagnostics, kernel)
    text = _innermost_message(chain, diagnostics)
    raw = _raw(chain, diagnostics)
    for rule in RULES:
        match = rule.pattern.search(text)
        if match is not None:
            message = rule.message(match, place, request)
            if message is None:
                continue
            name = match[1] if match.re.groups else ""
            line = _better_line(rule.kind, name or "", place, kernel)
            return Failure(rule.kind, re.sub(r"^a (?=pointer|\[)", "A ", message), raw, line, rule.only_here)
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), type(error).__name__)
    return Failure(
        "unknown", f"Triton's compiler stopped for {gpu_name(request.capability)}: {last[:300]}", raw, place.line
    )


def _better_line(kind: str, name: str, place: Place, kernel: JITFunction) -> int | None:
    """A better line where Triton reports the loop instead of an assignment in it, or none for a function it cannot call."""
    if kind == "loop_type" and isinstance(place.node, ast.For | ast.While) and place.line is not None:
        for node in ast.walk(place.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return place.line + node.lineno - place.node.lineno
    if place.line is None and kind == "not_jitted":
        for function in _functions(kernel):
            for number, text in enumerate(function.src.split("\n")):
                if re.search(rf"\b{re.escape(name)}\s*\(", text):
                    return _first_line(function) + number
    return place.line


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and its causes, innermost last."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 40:
        chain.append(current)
        current = current.__cause__
    return chain


def _innermost_message(chain: list[BaseException], diagnostics: str) -> str:
    """The innermost message, or the first error of the compiler's C++ half."""
    for error in reversed(chain):
        kind = type(error).__name__
        message = getattr(error, "error_message", None) if hasattr(error, "node") else str(error)
        if kind == "CompileTimeAssertionFailure":
            return f"CompileTimeAssertionFailure: {message or ''}"
        if message:
            first = re.search(r"error: (.*)", diagnostics)
            return f"{first[1]}\n{diagnostics}" if first and not hasattr(error, "node") else str(message)
    return str(chain[0])


def _raw(chain: list[BaseException], diagnostics: str) -> str:
    text = "\n".join(dict.fromkeys(str(e) for e in chain if str(e)))
    if diagnostics:
        text += "\n" + diagnostics.split("{-#")[0]
    return text.strip()[:8000]


def _place(chain: list[BaseException], kernel: JITFunction) -> Place:
    """The innermost node in the learner's own module rather than Triton's library."""
    functions = _functions(kernel)
    place = Place(None)
    for error in chain:
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        if node is None or not hasattr(node, "lineno"):
            continue
        owner = next((f for f in functions if f.src == source), None)
        if owner is not None:
            place = _place_in(owner, node.lineno - 1, kernel, node)
    return place


def _place_in(owner: Any, number: int, kernel: JITFunction, node: ast.AST | None = None) -> Place:
    """A line of a function's source, by its number from 0."""
    lines = owner.src.split("\n")
    code = lines[number].strip() if number < len(lines) else ""
    return Place(_first_line(owner) + number, code, owner.__name__ if owner is not kernel else "", node)


def _place_of_diagnostics(diagnostics: str, kernel: JITFunction) -> Place:
    path = kernel.fn.__code__.co_filename
    match = re.search(re.escape(path) + r":(\d+):\d+", diagnostics)
    if match is None:
        return Place(None)
    line = int(match[1])
    for owner in _functions(kernel):
        number = line - _first_line(owner)
        if 0 <= number <= owner.src.count("\n"):
            return _place_in(owner, number, kernel)
    return Place(line)


def _functions(kernel: JITFunction) -> list[Any]:
    """The kernel and the other Triton functions of its module."""
    others = [v for v in kernel.fn.__globals__.values() if hasattr(v, "src") and hasattr(v, "starting_line_number")]
    return [kernel, *(f for f in others if f is not kernel and f.fn.__globals__ is kernel.fn.__globals__)]


def _first_line(function: Any) -> int:
    """The line of ``def`` in the module; `src` begins there."""
    above = next(i for i, line in enumerate(function.raw_src) if re.match(r"\s*def\s", line))
    return int(function.starting_line_number) + above
