"""Each failure of the real compiler, on a real kernel: its kind, the learner's line, words that help."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import triton

from checker.compiler import CompileRequest, CompileResult, compile_kernel
from checker.compiler.translate import KINDS

BANK = Path(__file__).parent / "broken_kernels.py"
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32", "B": "constexpr"}

CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "arange_runtime": ("constexpr", "tl.arange(0, N)", ("tl.constexpr", "BLOCK_N", "mask")),
    "zeros_runtime": ("constexpr", "tl.zeros((N,)", ("shape", "tl.constexpr")),
    "constexpr_rt": ("constexpr", "tl.arange(0, M)", ("tl.constexpr",)),
    "static_range_rt": ("constexpr", "tl.static_range(0, N)", ("range",)),
    "program_id_rt": ("constexpr", "tl.program_id(N)", ("literal",)),
    "arange_pow2": ("power_of_two", "tl.arange(0, 37)", ("power of two", "mask")),
    "zeros_pow2": ("power_of_two", "B - 1", ("power of two",)),
    "reshape_bad": ("power_of_two", "tl.reshape", ("power of two",)),
    "arange_empty": ("range", "tl.arange(B, 0)", ("end", "start")),
    "float_range": ("range", "range(0, N / B)", ("//", "(int32, fp32, int32)")),
    "iter_tensor": ("range", "for s in tl.arange", ("range(...)",)),
    "dot_small": ("dot_too_small", "tl.dot(a, a)", ("16", "K")),
    "dot_dtype": ("dot", "tl.dot(a, a.to(tl.float16))", ("float32", "float16", "same dtype")),
    "dot_shape": ("dot", "tl.dot(a, a)", ("[M, K]", "tl.trans")),
    "dot_vec": ("dot", "tl.dot(a, a)", ("matrices", "tl.sum")),
    "dot_int": ("dot", "tl.dot(o, o)", ("int32", ".to(")),
    "dot_acc": ("dot", "tl.zeros((16, 16)", ("accumulator", "[M, N]")),
    "precision_bad": ("arguments", 'input_precision="high"', ("ieee", "high")),
    "loop_int": ("loop_type", "acc += tl.sum", ("`acc`", "int32", "float32", "0.0")),
    "while_int": ("loop_type", "acc += tl.sum", ("`acc`", "0.0")),
    "loop_shape": ("loop_type", "acc += tl.load", ("`acc`", "[16] tile", "tl.zeros")),
    "loop_dtype": ("loop_type", "acc = (acc", ("float16", "float32")),
    "reassign_constexpr": ("loop_type", "B = B + 1", ("`B`", "new variable")),
    "if_type": ("branch_type", "if N > 3", ("`a`", "int32", "float32")),
    "if_else_type": ("branch_type", "if N > 3", ("`a`", "[16] tile")),
    "ret_mismatch": ("return_type", "", ("float32", "bool", "return")),
    "broadcast": ("shape", "a + b", ("16", "32", "axis 0")),
    "broadcast2": ("shape", "a - m", ("axis 1", "[:, None]")),
    "mask_shape": ("shape", "mask=tl.arange(0, 2 * B)", ("16", "32")),
    "num_none": ("shape", "x[:, None, None]", ("[16, 1]", "[16, 16, 1]")),
    "axis_range": ("axis", "axis=1", ("axis 1",)),
    "trans3": ("axis", "a.T", ("two sides",)),
    "undefined": ("undefined_name", "x_ptr + offs_n", ("`offs_n`",)),
    "only_in_loop": ("undefined_name", "tl.store(y_ptr, a)", ("`a`", "loop")),
    "only_in_if": ("undefined_name", "tl.store(y_ptr, a)", ("`if`",)),
    "undefined_tl": ("unknown_function", "tl.laod", ("tl.laod",)),
    "undefined_method": ("unknown_function", "a.mean()", (".mean",)),
    "global_plain": ("global", "* SCALE", ("SCALE = tl.constexpr",)),
    "nonjit": ("not_jitted", "plain(tl.load(x_ptr))", ("`plain`", "@triton.jit")),
    "helper_name_only": ("not_jitted", "tl.store(y_ptr, two)", ("two(...)",)),
    "brk": ("unsupported_syntax", "break", ("`break`", "while")),
    "cont": ("unsupported_syntax", "continue", ("`continue`", "mask")),
    "listcomp": ("unsupported_syntax", "[i for i in range(4)]", ("tl.arange",)),
    "slicing": ("unsupported_syntax", "x[0:8]", ("[:, None]", "offsets")),
    "indexing": ("unsupported_syntax", "x[3]", ("[:, None]",)),
    "setitem": ("unsupported_syntax", "x[0] = 1.0", ("tl.where",)),
    "chained": ("unsupported_syntax", "0 < o < N", ("&",)),
    "pow_": ("unsupported_syntax", "** 2", ("x * x",)),
    "matmul_op": ("unsupported_syntax", "a @ a", ("tl.dot",)),
    "unpack": ("unsupported_syntax", "a, b =", ("tuple",)),
    "nested": ("unsupported_syntax", "def f(x)", ("@triton.jit",)),
    "return_in_loop": ("unsupported_syntax", "if s > 3", ("return",)),
    "rec": ("unsupported_syntax", "recurse(x) + 1", ("calls itself",)),
    "bf_scalar_return": ("unsupported_syntax", "return tl.load(x_ptr)", ("tl.store",)),
    "if_tensor": ("condition", "if x > 0", ("tl.where",)),
    "ifexp_tensor": ("condition", "if x > 0 else x", ("tl.where",)),
    "while_tensor": ("condition", "while x > 0", ("per lane",)),
    "exp_fp16": ("dtype", "tl.exp(x)", ("float16", "x.to(tl.float32)")),
    "exp_int": ("dtype", "tl.exp(tl.arange(0, B))", ("int32", "x.to(tl.float32)")),
    "num_shadow": ("dtype", ".to(float)", ("tl.float32",)),
    "num_shadow2": ("dtype", '.to("float32")', ("tl.float32",)),
    "bitand_float": ("dtype", "a & 1", ("float32", "whole numbers")),
    "mask_float": ("dtype", "mask=o * 1.0", ("offs_n < N",)),
    "store_nonptr": ("pointer", "tl.store(o,", ("tl.store needs addresses", "int32")),
    "load_nonptr": ("pointer", "tl.load(o)", ("tl.load needs addresses",)),
    "store_shape": ("pointer", "tl.store(y_ptr, a)", ("offs_n",)),
    "ptr_index": ("pointer", "x_ptr[tl.arange(0, B)]", ("tl.load(x_ptr",)),
    "ptr_mul": ("pointer", "x_ptr * 2", ("pointer to float32",)),
    "ptr_sub": ("pointer", "p - tl.max", ("tl.load",)),
    "ptr_float": ("pointer", "tl.store(y_ptr + o, 1.0)", ("whole numbers",)),
    "ptr_as_value": ("pointer", "tl.exp(x_ptr + o)", ("tl.load",)),
    "missing_arg": ("arguments", "tl.store(y_ptr + o)", ("'value'",)),
    "missing_arg_helper": ("arguments", "helper_bad(o)", ("'N'",)),
    "wrong_kw": ("arguments", "default=0.0", ("`default`", "`other`")),
    "sum_kw": ("arguments", "dim=0", ("`dim`", "`axis`")),
    "other_nomask": ("arguments", "other=0.0", ("mask",)),
    "maximum_py": ("arguments", "max(a)", ("at least 2",)),
    "in_helper": ("constexpr", "return x + tl.arange(0, N)", ("tl.arange",)),
    "static_ass": ("static_assert", "tl.static_assert(B == 3", ("B must be three",)),
    "static_ass_rt": ("static_assert", "tl.static_assert(N > 3)", ("run-time",)),
    "numel_big": ("too_large", "tl.arange(0, 4194304)", ("4194304", "1048576")),
    "fp8": ("target", "tl.float8e4nv", ("A100", "fp8e4nv")),
}


VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
ACCEPTED_FROM = {"dot_small": (3, 8), "chained": (3, 9)}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    spec = importlib.util.spec_from_file_location("broken_kernels", BANK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton-cache"))


def compiled(bank: ModuleType, name: str, capability: int = 80) -> CompileResult:
    return compile_kernel(getattr(bank, name), CompileRequest(capability, SIGNATURE, {"B": 16}))


@pytest.mark.parametrize("name", CASES)
def test_failure_is_explained(bank: ModuleType, name: str) -> None:
    kind, code, words = CASES[name]
    if ACCEPTED_FROM.get(name, (9, 9)) <= VERSION:
        assert compiled(bank, name).ok  # newer Triton has learnt it: then there is nothing to explain
        return
    result = compiled(bank, name)
    assert not result.ok
    assert (result.kind, result.status) == (kind, "compile_error")
    assert result.line is not None
    assert code.replace(" ", "") in BANK.read_text().split("\n")[result.line - 1].replace(" ", "")
    for word in words:
        assert word in result.message
    assert result.raw
    assert result.kind in KINDS


def test_what_one_gpu_lacks_is_said_to_be_its_own(bank: ModuleType) -> None:
    assert compiled(bank, "fp8", 80).only_here
    assert not compiled(bank, "undefined", 80).only_here
    assert compiled(bank, "fp8", 90).ok


def test_tiles_too_large_for_shared_memory_name_the_gpu_and_both_sizes(bank: ModuleType) -> None:
    result = compiled(bank, "shared_big", 90)
    assert (result.kind, result.only_here) == ("shared_memory", True)
    for word in ("H100", "KiB", "227 KiB", "smaller tiles"):
        assert word in result.message


def test_words_nobody_has_seen_end_as_unknown_with_tritons_last_line(bank: ModuleType) -> None:
    from checker.compiler.translate import translate

    failure = translate(
        RuntimeError("first\nthe wombat is upside down"), bank.brk, CompileRequest(80, SIGNATURE, {"B": 16})
    )
    assert failure.kind == "unknown"
    assert "the wombat is upside down" in failure.message
    assert "wombat" in failure.raw


def test_a_failure_prints_nothing(bank: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    compiled(bank, "exp_fp16")
    assert capfd.readouterr().out == ""
