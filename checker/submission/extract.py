"""Extracts a kernel from its module with exactly what it needs: imports of Triton, constants, jitted helpers."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

from checker.submission.allowed_names import LIBDEVICE, LIBDEVICES, MODULES
from checker.submission.kernel import Config, KernelSource, Piece, Violation
from checker.submission.literals import NotLiteral, autotune_configs
from checker.submission.scope import DEFAULT_IMPORTS, Definition, Scope, Text, dotted, free_names, parse, quoted

MAX_DEFINITIONS = 64
MAX_CONSTANTS = 256
MAX_PROBLEMS = 100
MAX_LINE = 1 << 16
MAX_LINES = 10_000
"""A kernel further down in its file is not emitted at its own lines."""
_LARGEST = 2**64
_LANGUAGE = "triton.language"
_DEFAULT_IMPORTS = ("import triton", "import triton.language as tl")


@dataclass(frozen=True)
class _Block:
    """The lines of one definition, and where the learner wrote the first of them."""

    lines: list[str]
    origin: str
    first: int


class _Module:
    """The emitted module: its blocks on the learner's own lines, so that line N here is line N there.

    Blocks of other files or cells, and blocks whose lines are taken, follow below; `pieces` says where they are from.
    """

    def __init__(self, header: str, blocks: list[_Block]) -> None:
        """`blocks` begins with the kernel's; `header` takes line 1."""
        self.lines = [header]
        here = [block for block in blocks if block.origin == blocks[0].origin]
        places = {id(block): block.first for block in here if self._put(block, block.first)}
        for block in blocks:
            if id(block) not in places:
                places[id(block)] = len(self.lines) + 2
                self._put(block, places[id(block)])
        self.pieces = tuple(
            Piece(start, start + len(block.lines) - 1, block.origin, block.first)
            for block, start in ((block, places[id(block)]) for block in blocks)
        )

    def _put(self, block: _Block, start: int) -> bool:
        """Write the block from line `start` on, if these lines are free."""
        stop = start + len(block.lines) - 1
        if start < 1 or stop > MAX_LINES or any(self.lines[start - 1 : stop]):
            return False
        self.lines += [""] * (stop - len(self.lines))
        self.lines[start - 1 : stop] = block.lines
        return True


class _Extraction:
    """Follows names from the kernel to everything it needs."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.aliases: dict[str, str] = {}
        self.values: dict[str, Definition] = {}
        self.functions: dict[str, Definition] = {}
        self.problems: dict[Violation, None] = {}

    def problem(self, rule: str, line: int, message: str, text: Text) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems[Violation(rule, line, message, text.origin)] = None

    def visit(self, definition: Definition) -> None:
        self.functions[definition.name] = definition
        node, text = _function(definition)
        self.numbers(node, text)
        for name, line in free_names(node).items():
            if name in self.functions or name in self.values or name in self.aliases:
                continue
            self.resolve(name, text.first + line - 1, text)

    def numbers(self, statement: ast.stmt, text: Text) -> None:
        """Report integers beyond 64 bits: later steps could not even print one of thousands of digits."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= _LARGEST:
                self.problem("numbers", text.line_of(node), "this number does not fit in 64 bits", text)

    def resolve(self, name: str, line: int, text: Text) -> None:
        definition = self.scope.find(name)
        if definition is None or (definition.kind == "function" and len(self.functions) >= MAX_DEFINITIONS):
            return  # undefined or a builtin: the rules and the compiler report it
        if definition.kind == "import":
            self.imported(name, definition.target, line, text)
        elif definition.kind == "value":
            if len(self.values) >= MAX_CONSTANTS:
                self.problem("size", line, f"the kernel reads more than {MAX_CONSTANTS} values from outside", text)
                return
            self.values[name] = definition
            self.numbers(*_written(definition))
        elif definition.kind == "other":
            self.problem("names", line, _not_for_kernels(name, definition.what), text)
        elif jit_decorator(definition, self.scope) is None and not _function(definition)[0].decorator_list:
            message = (
                f"`{name}` is an ordinary Python function, and a kernel can only call functions that are compiled with it. "
                f"Write @triton.jit on the line above `def {name}(`"
            )
            self.problem("helpers", definition.line, message, _written(definition)[1])
            self.visit(definition)
        else:
            self.decorators(definition, is_kernel=False)
            self.visit(definition)

    def imported(self, name: str, target: str, line: int, text: Text) -> None:
        module, _, own = target.rpartition(".")
        if target in MODULES or (module in LIBDEVICES and own in LIBDEVICE):
            self.aliases[name] = target
        elif target.startswith(f"{_LANGUAGE}."):
            meant = target.removeprefix(f"{_LANGUAGE}.")
            self.problem("names", line, f"write `tl.{meant}` instead of importing `{name}` by itself", text)
        else:
            self.problem("names", line, _foreign(name, target), text)

    def decorators(self, definition: Definition, is_kernel: bool) -> tuple[Config, ...]:
        """The configurations of an autotune. Any decorator except jit and autotune is a problem."""
        node, text = _function(definition)
        configs: tuple[Config, ...] = ()
        for decorator in node.decorator_list:
            line = text.line_of(decorator)
            call = decorator if isinstance(decorator, ast.Call) else None
            name = dotted(call.func if call else decorator, self.scope)
            if name == "triton.jit":
                if call and (call.args or call.keywords):
                    self.problem("decorators", line, "write plain @triton.jit, without arguments", text)
            elif name == "triton.autotune" and call and is_kernel and not configs:
                try:
                    configs = autotune_configs(call, self.scope)
                except NotLiteral as error:
                    where = getattr(error.node, "lineno", None)
                    line = text.first + where - 1 if where and _within(error.node, call) else line
                    message = f"{error}. The checker reads the configurations without running your code"
                    self.problem("autotune", line, message, text)
            elif name == "triton.autotune":
                message = "@triton.autotune(configs=[...], key=[...]) goes once, above the kernel only"
                self.problem("autotune", line, message, text)
            else:
                message = f"`@{quoted(decorator)}` is not allowed here: only @triton.jit and @triton.autotune are"
                self.problem("decorators", line, message, text)
        if jit_decorator(definition, self.scope) is None:
            message = f"write @triton.jit on the line above `def {node.name}(`"
            self.problem("decorators", text.line_of(node), message, text)
        return configs


def extract(kernel: Definition, puzzle: str, scope: Scope) -> KernelSource:
    """The kernel as a module of its own, with the constants and helpers that `scope` finds.

    Broken rules that the emitted module does not show (decorators, unsuitable names) are in its `problems`.
    """
    extraction = _Extraction(scope)
    configs = extraction.decorators(kernel, is_kernel=True)
    extraction.visit(kernel)
    functions = [_function_block(definition, scope) for definition in extraction.functions.values()]
    blocks = [*functions, *map(_value_block, extraction.values.values())]
    imports = _imports(extraction.aliases)
    needs_line_1 = any((block.origin, block.first) == (blocks[0].origin, 1) for block in blocks)
    header = "" if needs_line_1 and not imports else "; ".join([*_DEFAULT_IMPORTS, *imports])
    module = _Module(header, blocks)
    source = "\n".join(module.lines).rstrip() + "\n"
    return KernelSource(puzzle, kernel.name, source, module.pieces, configs, tuple(extraction.problems))


def _imports(aliases: dict[str, str]) -> list[str]:
    """The statements that give `aliases` their meaning, apart from `triton` and `tl`."""
    statements = []
    for name, target in sorted(aliases.items()):
        parent, _, own = target.rpartition(".")
        if DEFAULT_IMPORTS.get(name) == target:
            continue
        if (name, target) == ("language", _LANGUAGE):
            statements.append("from triton import language")
        elif target in MODULES:
            statements.append(f"import {target} as {name}")
        else:
            statements.append(f"from {parent} import {own} as {name}")
    return statements


def jit_decorator(definition: Definition, scope: Scope) -> ast.expr | None:
    """The decorator that makes the function a Triton function, if it has one."""
    for decorator in _function(definition)[0].decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(function, scope) == "triton.jit":
            return decorator
    return None


def _function_block(definition: Definition, scope: Scope) -> _Block:
    """From ``@triton.jit``, other decorators left out, to the end of the body."""
    node, text = _function(definition)
    decorator = jit_decorator(definition, scope)
    above = 1 if decorator is None else node.lineno - decorator.lineno
    lines = ["@triton.jit", *[""] * (above - 1), *_function_lines(node, text)]
    return _Block(lines, text.origin, text.line_of(node) - above)


def _value_block(definition: Definition) -> _Block:
    node, text = _written(definition)
    return _Block(_statement_lines(node, text), text.origin, definition.line)


def _written(definition: Definition) -> tuple[ast.stmt, Text]:
    """The statement of a value or function, and its text; only imports may have none."""
    assert definition.node is not None
    assert definition.text is not None
    return definition.node, definition.text


def _function(definition: Definition) -> tuple[ast.FunctionDef, Text]:
    node, text = _written(definition)
    assert isinstance(node, ast.FunctionDef)
    return node, text


def _statement_lines(node: ast.stmt, text: Text) -> list[str]:
    """The lines of a top-level assignment, without other statements on the same lines."""
    assert node.end_lineno is not None
    lines = text.lines[node.lineno - 1 : node.end_lineno]
    encoded = lines[-1].encode()  # columns count bytes of UTF-8
    rest = encoded[node.end_col_offset :].decode().strip()
    if node.col_offset or (rest and not rest.startswith("#")):
        return [quoted(node, MAX_LINE)]
    return lines


def _function_lines(node: ast.FunctionDef, text: Text) -> list[str]:
    """From ``def`` to the end of the body, with the comments that follow the last statement."""
    lines = text.lines
    stop = node.end_lineno or node.lineno
    for number in range(stop, len(lines)):
        line = lines[number]
        if line.strip() and not (line[0] in " \t" and line.lstrip().startswith("#")):
            break
        if line.strip():
            stop = number + 1
    return lines[node.lineno - 1 : stop]


def _within(inner: ast.AST, outer: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _foreign(name: str, target: str) -> str:
    if target.startswith("triton."):
        return f"`{name}` ({target}) is not available in this course: use the functions of `tl` that its notebooks introduce"
    return (
        f"`{name}` is imported ({target}). A kernel runs on the GPU and cannot call Python libraries: use `tl`, the language of "
        f"Triton, for example tl.exp or tl.sum. A helper of your own must be in the same file or notebook as the kernel"
    )


def _not_for_kernels(name: str, what: str) -> str:
    return (
        f"`{name}` is {what or 'a Python value'}, which a kernel cannot read. A kernel may use its parameters, its own variables, "
        f"@triton.jit helpers and constants such as `{name} = tl.constexpr(1.0)`"
    )


def one_function(text: Text) -> tuple[ast.FunctionDef, Text]:
    """The function that `text` (the source of one function, perhaps indented) defines. Raises SyntaxError."""
    flat = Text(textwrap.dedent(text.text), text.origin, text.first)
    tree = parse(flat.text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            return node, flat
    raise SyntaxError("this is not a function written with `def`", (text.origin, 1, 0, ""))
