"""Nothing that reaches Python gets through the rules; honest kernels of every style do."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

from checker.course import PUZZLES
from checker.submission.allowed_names import RULES
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource, Piece, Violation
from checker.submission.rules import is_untouched, violations, without_broken

PUZZLE = PUZZLES["row_softmax"]
HEAD = "import triton\nimport triton.language as tl\n\n\n"
SIGNATURE = "x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr"


def module(text: str) -> KernelSource:
    source = HEAD + text
    return KernelSource(
        "row_softmax", "row_softmax_kernel", source, (Piece(1, source.count("\n") + 1, "kernel.py", 1),)
    )


def kernel(body: str, above: str = "", signature: str = SIGNATURE) -> KernelSource:
    return module(
        f"{textwrap.dedent(above)}\n@triton.jit\ndef row_softmax_kernel({signature}):\n"
        + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        + "\n"
    )


def test_a_loop_whose_test_never_changes_is_refused_before_it_runs():
    body = "start = 0\nwhile start < N:\n    x = tl.load(x_ptr + start)\n    {}"
    source = kernel(body.format("y = x + 1.0"))
    (violation,) = broken(source)
    assert violation.rule == "endless"
    assert "while start < N" in source.source.splitlines()[violation.line - 1]
    assert "nothing in the loop changes `start`" in violation.message
    assert not broken(kernel(body.format("start += BLOCK_N")))


def test_a_store_that_is_written_as_an_assignment_is_told_of_tl_store():
    (violation,) = broken(kernel("y_ptr[tl.arange(0, BLOCK_N)] = 1.0"))
    assert "`y_ptr` is a pointer" in violation.message
    assert "tl.store(y_ptr + tl.arange(0, BLOCK_N), …, mask=…)" in violation.message


def broken(source: KernelSource) -> list[Violation]:
    return violations(source, PUZZLE)


HOSTILE = {
    "globals_of_load": ("y = tl.load.__globals__", "names"),
    "percent_format": ('y = "%s" % x_ptr', "text"),
    "eval": ('eval("1")', "names"),
    "builtins": ("y = __builtins__", "names"),
    "with": ("with x_ptr:\n    pass", "statements"),
    "after_loop_set_before": ("i = 7\nfor i in tl.range(3):\n    pass\ny = i", "loops"),
    "shadow_in_loop": ("for tl in range(3):\n    pass", "shadowing"),
    "for_else": ("for i in range(3):\n    pass\nelse:\n    pass", "statements"),
    "triton_jit": ("y = triton.jit(x_ptr)", "names"),
    "mro": ("y = ().__class__.__mro__", "attributes"),
    "handle": ("x = tl.load(x_ptr)\ny = x.handle.data", "attributes"),
    "format": ('y = "{0.__class__}".format(x_ptr)', "attributes"),
    "f_string": ('y = f"{x_ptr.__class__}"', "expressions"),
    "core_semantic": ("y = tl.core._semantic", "names"),
    "inline_asm": ('y = tl.inline_asm_elementwise("", "", [], tl.int32, True, 1)', "names"),
    "extra_module": ("y = tl.extra.libdevice.core", "names"),
    "semantic_argument": ("y = tl.load(x_ptr, _semantic=None)", "arguments"),
    "import": ("import os", "statements"),
    "open": ('open("/etc/passwd")', "names"),
    "print_to_file": ('print("x", file=1)', "arguments"),
    "print_without_text": ("print(N)", "text"),
    "print_nothing": ("print()", "text"),
    "print_as_a_value": ("y = print", "names"),
    "f_string_of_python": ('print(f"{x_ptr.__class__}")', "attributes"),
    "f_string_with_a_format": ('tl.static_assert(BLOCK_N > 1, f"{BLOCK_N:>999999999}")', "text"),
    "f_string_with_a_nested_format": ('print(f"{N:{N}}")', "text"),
    "f_string_with_a_conversion": ('print(f"{x_ptr!r}")', "text"),
    "lambda": ("y = (lambda: 1)()", "expressions"),
    "walrus": ("if (y := 1) > 0:\n    pass", "expressions"),
    "star_arguments": ("y = tl.load(*(x_ptr,))", "arguments"),
    "always": ("while True:\n    pass", "endless"),
    "always_a_number": ("while 1:\n    pass", "endless"),
    "after_loop": ("for i in range(3):\n    pass\ny = i", "loops"),
    "after_loop_in_place": ("for i in range(3):\n    pass\ni += 1", "loops"),
    "after_inner_loop": ("for j in range(3):\n    for i in range(3):\n        pass\n    y = i", "loops"),
    "after_loop_in_branch": ("for i in range(3):\n    pass\nif N > 1:\n    y = i", "loops"),
    "annotated_atomic": ("t: tl.float32 = tl.atomic_add(y_ptr, 1.0)", "annotations"),
    "annotated_method": ("t: tl.float32 = y_ptr.atomic_add(1.0)", "annotations"),
    "is_between_numbers": ("t = N is 3", "expressions"),
    "shadow_tl": ("tl = x_ptr", "shadowing"),
    "huge_power": ("y = 10 ** 10 ** 10", "numbers"),
    "huge_literal": (f"y = {'9' * 400}", "numbers"),
    "huge_shift": ("y = 1 << 100000000", "numbers"),
    "look_alike_function": ("y = tl.\uff4coad(x_ptr)", "ascii_names"),
    "look_alike_underscores": ("y = x_ptr.\uff3f_class__", "syntax"),
    "alias_module": ("t = tl", "names"),
    "alias_function": ("f = tl.load\ny = f(x_ptr)", "names"),
    "function_as_argument": ("y = tl.reduce(x_ptr, 0, tl.load)", "names"),
    "call_of_call": ("y = tl.load(x_ptr)(1)", "expressions"),
    "call_of_subscript": ("y = (tl.load, 1)[0](x_ptr)", "expressions"),
    "bytes": ('y = b"abc"', "expressions"),
    "attribute_store": ("x_ptr.handle = 1", "attributes"),
    "subscript_store": ("x_ptr[0] = 1", "statements"),
    "loop_over_list": ("for i in [1, 2]:\n    pass", "statements"),
    "range_as_value": ("y = range(3)", "expressions"),
    "static_range_bomb": ("for i in tl.static_range(100000):\n    pass", "size"),
    "matmul": ("y = x_ptr @ x_ptr", "expressions"),
    "in": ("y = 1 in (1, 2)", "expressions"),
    "triton_runtime": ("y = triton.runtime.driver", "names"),
    "int_of_text": ('y = int("12")', "text"),
    "min_with_key": ("y = min(1, 2, key=tl.load)", "arguments"),
    "placeholder": ("mask = ...", "placeholder"),
    "annotation_call": ("y: tl.load(x_ptr) = 1", "annotations"),
}


def test_a_hostile_body_is_refused() -> None:
    for name, (body, rule) in HOSTILE.items():
        found = broken(kernel(body))
        assert rule in {v.rule for v in found}, name
        assert all(v.message and v.rule in RULES for v in found), name


HOSTILE_MODULES = {
    "default_call": (kernel("pass", signature=f"{SIGNATURE} = open('/x')"), "arguments"),
    "annotation_call": (kernel("pass", signature=SIGNATURE.replace("tl.constexpr", "open('/x')")), "annotations"),
    "return_annotation": (
        module(f"@triton.jit\ndef row_softmax_kernel({SIGNATURE}) -> open('/x'):\n    pass\n"),
        "annotations",
    ),
    "star_parameters": (kernel("pass", signature=SIGNATURE + ", *rest"), "arguments"),
    "decorator": (module(f"@open\n@triton.jit\ndef row_softmax_kernel({SIGNATURE}):\n    pass\n"), "decorators"),
    "constant_call": (kernel("y = C", "C = tl.constexpr(open('/x'))"), "constants"),
    "constant_power": (kernel("y = C", "C = tl.constexpr(10 ** 10 ** 10)"), "constants"),
    "plain_constant": (kernel("y = C", "C = 1.5"), "constants"),
    "top_level_call": (kernel("pass", "open('/x')"), "statements"),
    "other_import": (kernel("pass", "import os"), "statements"),
    "helper_recursion": (
        kernel("f(1)", "@triton.jit\ndef f(x):\n    return g(x)\n\n\n@triton.jit\ndef g(x):\n    return f(x)\n"),
        "helpers",
    ),
    "helper_shadows": (kernel("f(1)", "@triton.jit\ndef f(x):\n    tl = x\n    return tl\n"), "shadowing"),
    "helper_as_value": (kernel("y = f", "@triton.jit\ndef f(x):\n    return x\n"), "helpers"),
    "deep": (kernel("y = " + "-" * 200 + "N"), "size"),
    "long": (kernel("y = 1\n" * 20000), "size"),
    "not_python": (kernel("y = = 1"), "syntax"),
}


def test_what_is_left_without_the_broken_statements_follows_the_rules() -> None:
    for name, (body, _) in HOSTILE.items():
        rest = without_broken(kernel(body), PUZZLE)
        assert rest is None or not broken(rest[0]), name
    left = without_broken(kernel("m = N\nimport os\nprint(\n    N\n)\ny = m"), PUZZLE)
    assert left is not None
    assert left[1] == ("line 9", "line 10")
    assert left[0].source.split("\n")[7:13] == ["    m = N", "    pass", "    pass", "", "", "    y = m"]
    assert without_broken(kernel("m = N"), PUZZLE) is None, "nothing is broken"
    assert without_broken(kernel("with x_ptr:\n    pass"), PUZZLE) is None, "a statement with others in it stays"


def test_what_is_left_without_decorators_that_nobody_can_read_follows_the_rules(tmp_path: Path) -> None:
    body = kernel("tl.static_assert(BLOCK_N > 1, f'too small: {BLOCK_N}')\nm = N").source
    for decorator in (
        "@triton.autotune(configs=[triton.Config({'BLOCK_N': 2**n}) for n in range(5)], key=[])",
        "@timed(\n    N)\n@another",
        "@triton.heuristics({})",
    ):
        (tmp_path / "kernel.py").write_text(body.replace("@triton.jit", f"{decorator}\n@triton.jit"))
        (read,) = from_path(tmp_path / "kernel.py", [PUZZLE])
        assert read.source is not None
        assert read.source.problems, decorator
        left = without_broken(read.source, PUZZLE)
        assert left is not None, decorator
        assert left[1][0] == f"line {read.source.problems[0].line}"


def test_a_hostile_module_is_refused() -> None:
    for name, (source, rule) in HOSTILE_MODULES.items():
        assert rule in {v.rule for v in broken(source)}, name


SIGNATURES = {
    "missing": ("x_ptr, y_ptr, stride_xm, stride_ym, BLOCK_N: tl.constexpr", ("`N` is missing",)),
    "extra": (SIGNATURE + ", M", ("`M` is not part",)),
    "renamed": (SIGNATURE.replace("stride_xm", "stride_x"), ("`stride_xm` was renamed to `stride_x`",)),
    "order": ("y_ptr, x_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr", ("another order", "x_ptr, y_ptr")),
    "not_constexpr": (SIGNATURE.replace(": tl.constexpr", ""), ("`BLOCK_N: tl.constexpr`",)),
    "too_constexpr": (SIGNATURE.replace(" N,", " N: tl.constexpr,"), ("`N` is given at run time",)),
}


def test_the_signature_must_be_the_puzzles() -> None:
    for signature, words in SIGNATURES.values():
        found = [v for v in broken(kernel("pass", signature=signature)) if v.rule == "signature"]
        for word in words:
            assert any(word in v.message for v in found), word


HONEST = {
    "while": "s = 0\nwhile s < N:\n    s += BLOCK_N",
    "static_range_constexpr": "for s in tl.static_range(0, BLOCK_N, 16):\n    pass",
    "if_constexpr": "if BLOCK_N > 64:\n    y = 1\nelif BLOCK_N == 64:\n    y = 2\nelse:\n    y = 3",
    "static_assert": 'tl.static_assert(BLOCK_N >= 16, "tile too small")',
    "conditional_expression": "y = 1.0 if N > 3 else 0.0",
    "unpack": "a, b = 1.0, 2.0\na, b = b, a",
    "modifiers": 'x = tl.load(x_ptr, eviction_policy="evict_last", cache_modifier=".cg")',
    "python_min_max": "y = min(N, BLOCK_N)\nz = max(N, 4)",
    "shadowed_builtin": "sum = tl.sum(tl.arange(0, BLOCK_N))\nmax = sum + 1",
    "underscore_loop": "for _ in range(3):\n    pass",
    "comment_text": '"""docs"""\n"a note"\ny = 1',
    "hint_to_compiler": "o = tl.multiple_of(N, 16)\ntl.assume(N > 0)\ntl.debug_barrier()",
    "debug": 'tl.device_print("x", N)\ntl.static_print("B", BLOCK_N)',
    "print": 'print("x", N)\nprint(f"{BLOCK_N}", N)\ntl.static_assert(BLOCK_N >= 2, f"BLOCK_N is {BLOCK_N}")',
    "hex_and_shift": "y = N & 0xFFFFFFFF\nz = 1 << 4\nw = BLOCK_N ** 2",
    "early_return": "if tl.program_id(0) > N:\n    return\ny = 1",
    "none_argument": "x = tl.load(x_ptr, mask=None)\nif x_ptr is None:\n    y = 1",
    "undefined_is_for_the_compiler": "y = offs_k + 1",
}


def test_an_honest_body_passes() -> None:
    for name, body in HONEST.items():
        assert broken(kernel(body)) == [], name


def test_honest_module_with_helpers_and_constants_passes() -> None:
    above = """
    LOG2E: tl.constexpr = tl.constexpr(1.44269504)
    TINY = tl.constexpr(2.0 ** -30)
    NEG = tl.constexpr(float("-inf"))
    ACC = tl.float32

    @triton.jit
    def combine(a, b):
        if a > b:
            return a
        return b

    @triton.jit
    def rescale(x, BLOCK: tl.constexpr = 16, scale=1.0):
        return x * LOG2E * scale, tl.full((BLOCK,), NEG, ACC)
    """
    body = "a, b = rescale(N, BLOCK=BLOCK_N)\nm = tl.reduce(b, 0, combine)\ny = b.reduce(0, combine) + TINY"
    assert broken(kernel(body, above)) == []


def test_the_advice_on_a_constant_is_python() -> None:
    for value, advice in (('float("-inf")', 'float("-inf")'), ("-1e999", 'float("-inf")'), ("2 ** 10", "1024")):
        (violation,) = broken(kernel("y = NEG", f"NEG = {value}"))
        assert f"write `NEG = tl.constexpr({advice})`" in violation.message


def test_violation_stands_on_the_learners_line() -> None:
    source = kernel("y = 1\nimport os")
    text = source.source
    source = replace(source, pieces=(Piece(5, text.count("\n"), "In[7]", 1),))
    (found,) = violations(source, PUZZLE)
    assert (found.origin, found.line) == ("In[7]", text.split("\n").index("    import os") + 1 - 4)


UNTOUCHED = {
    "stub": ('"""Docs."""\n# your code starts here (about 9 lines)\n# your code ends here', True),
    "pass": ('"""Docs."""\n# your code starts here\npass\n# a note\n# your code ends here', True),
    "given_lines": ("row = tl.program_id(0)\n# your code starts here\n# your code ends here", True),
    "no_markers": ('"""Docs."""\npass', True),
    "one_line": ('"""Docs."""\n# your code starts here\nrow = 1\n# your code ends here', False),
    "below_the_end": ("pass\n# your code starts here\n# your code ends here\nrow = 1", False),
    "above_the_start": ("tl.store(y_ptr, 1)\n# your code starts here\n# your code ends here", False),
}


def test_an_untouched_region_is_recognised() -> None:
    for name, (body, expected) in UNTOUCHED.items():
        assert is_untouched(kernel(body)) is expected, name
