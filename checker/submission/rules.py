"""The rules of a kernel: an allow-list over its syntax tree.

In the simulator a kernel's body is ordinary Python, so only the statements, expressions and names listed here may pass.
Everything else is refused with a hint about what to write instead.
"""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
from dataclasses import replace

from checker.phrases import join
from checker.puzzle import Puzzle
from checker.submission.allowed_names import DTYPES, LIBDEVICE, LIBDEVICES, MODULES
from checker.submission.function_rules import FunctionRules, triton_path
from checker.submission.kernel import KernelSource, Violation
from checker.submission.literals import NotLiteral, literal, number
from checker.submission.marked_region import END, START
from checker.submission.scope import DEFAULT_IMPORTS, parse, quoted

MAX_SOURCE = 64 * 1024
MAX_FUNCTIONS = 32
MAX_DEPTH = 60


def violations(source: KernelSource, puzzle: Puzzle) -> list[Violation]:
    """Every broken rule, in the order of lines."""
    in_module = []
    for violation in _in_module(source, puzzle):
        origin, line = source.locate(violation.line)
        in_module.append(replace(violation, origin=origin, line=line))
    unique = dict.fromkeys([*source.problems, *in_module])
    reported = {(v.rule, v.origin, v.line) for v in source.problems}
    reported |= {("helpers", v.origin, v.line) for v in source.problems if v.rule == "names"}
    kept = [v for v in unique if v in source.problems or (v.rule, v.origin, v.line) not in reported]
    return sorted(kept, key=lambda v: (v.origin, v.line))


def without_broken(source: KernelSource, puzzle: Puzzle) -> tuple[KernelSource, tuple[str, ...]] | None:
    """The kernel without the statements and decorators that break a rule, and which lines those are.

    Without its autotune it has the course's meta-parameters. None if no rule is broken, or if what is left is no kernel that
    follows the rules. Other lines keep their numbers.
    """
    if puzzle.launcher is not None:  # no rule binds it
        return None
    broken = _in_module(source, puzzle)
    above = [violation for violation in source.problems if violation.rule in ("decorators", "autotune")]
    if not (broken or above) or len(above) < len(source.problems) or any(v.rule in ("syntax", "size") for v in broken):
        return None
    tree, lines = parse(source.source), source.source.split("\n")
    simple = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    for violation in broken:
        node = next((node for node in simple if node.lineno <= violation.line <= (node.end_lineno or 0)), None)
        if node is None or lines[node.lineno - 1][: node.col_offset].strip() not in ("", "pass"):
            return None
        blank = [""] * ((node.end_lineno or 0) - node.lineno)
        lines[node.lineno - 1 : node.end_lineno] = ["" if node in tree.body else " " * node.col_offset + "pass", *blank]
    left = replace(source, source="\n".join(lines), problems=())
    where = [f"line {v.line}" + (f" of {v.origin}" if v.origin not in ("", source.origin) else "") for v in above]
    where += [source.line_words(violation.line) for violation in broken]
    return None if violations(left, puzzle) else (left, tuple(dict.fromkeys(where)))


def _in_module(kernel: KernelSource, puzzle: Puzzle) -> list[Violation]:
    """The broken rules, with lines of the emitted module."""
    source = kernel.source
    if sum(len(line.encode(errors="replace")) + 1 for line in source.split("\n") if line) > MAX_SOURCE:
        return [Violation("size", 1, f"this kernel and its helpers are longer than {MAX_SOURCE // 1024} kB of text")]
    try:
        tree = parse(source)
    except SyntaxError as error:
        return [Violation("syntax", error.lineno or 1, f"Python cannot read this: {error.msg}")]
    if _depth(tree) > MAX_DEPTH:
        return [Violation("size", 1, f"the code is nested more than {MAX_DEPTH} levels deep: split it into steps")]
    broken = [*_unicode(source), *_Module(tree, kernel, puzzle).broken]
    return sorted(broken, key=lambda violation: violation.line)


def _depth(tree: ast.AST) -> int:
    """How deeply nodes are nested, without recursion."""
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return deepest


def _unicode(source: str) -> list[Violation]:
    """Names with non-ASCII letters as they were written: Python folds look-alikes into ASCII letters."""
    broken = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and not token.string.isascii():
                message = f"write `{token.string}` in plain ASCII letters (alpha, not α)"
                broken.append(Violation("ascii_names", token.start[0], message))
    except (tokenize.TokenError, IndentationError, SyntaxError) as error:
        broken.append(Violation("syntax", 1, f"Python cannot read this: {error}"))
    return broken


class _Module:
    """Checks the emitted module: imports of Triton, constants, and functions that keep the rules."""

    def __init__(self, tree: ast.Module, kernel: KernelSource, puzzle: Puzzle) -> None:
        self.aliases = dict(DEFAULT_IMPORTS)
        self.constants: dict[str, ast.stmt] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.broken: list[Violation] = []
        for node in tree.body:
            self.top_level(node)
        if len(self.functions) > MAX_FUNCTIONS:
            self.refuse("size", tree, f"there are more than {MAX_FUNCTIONS} functions")
        for name, node in (*self.constants.items(), *self.functions.items()):
            if name in self.aliases:
                self.refuse("shadowing", node, f"`{name}` is Triton's: choose another name")
        for function in self.functions.values():
            rules = FunctionRules(function, self.aliases, set(self.constants), set(self.functions))
            self.broken += rules.violations()
        self.recursion()
        if kernel.kernel in self.functions:
            self.signature(self.functions[kernel.kernel], kernel, puzzle)
        else:
            self.refuse("name", tree, f"there is no function called `{kernel.kernel}`")

    def refuse(self, rule: str, node: ast.AST, message: str) -> None:
        self.broken.append(Violation(rule, getattr(node, "lineno", 1), message))

    def top_level(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=[ast.alias(name=name, asname=alias)]) if name in MODULES:
                self.aliases[alias or "triton"] = name if alias else "triton"
            case ast.ImportFrom(module=str(module), level=0, names=[ast.alias(name=name, asname=alias)]) if (
                module in LIBDEVICES and name in LIBDEVICE
            ):
                self.aliases[alias or name] = f"{module}.{name}"
            case ast.ImportFrom(module="triton", level=0, names=[ast.alias(name="language", asname=alias)]):
                self.aliases[alias or "language"] = "triton.language"
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                self.constants[name] = node
                self.constant(name, node)
            case ast.FunctionDef(name=name):
                if name in self.functions or name in self.constants:
                    self.refuse("names", node, f"`{name}` is defined twice")
                self.functions[name] = node
                if [quoted(decorator) for decorator in node.decorator_list] != ["triton.jit"]:
                    self.refuse("decorators", node, f"write plain @triton.jit, and nothing else, above `def {name}(`")
            case _:
                self.refuse("statements", node, "outside functions, only imports of triton and constants are allowed")

    def constant(self, name: str, node: ast.Assign | ast.AnnAssign) -> None:
        value = node.value
        if (
            isinstance(node, ast.AnnAssign)
            and triton_path(node.annotation, self.aliases) != "triton.language.constexpr"
        ):
            self.refuse("annotations", node, f"write `{name} = tl.constexpr(...)`")
            return
        if value is None or self.is_dtype(value):
            return
        if not (isinstance(value, ast.Call) and triton_path(value.func, self.aliases) == "triton.language.constexpr"):
            try:
                shown = literal(number(value))
            except NotLiteral:
                shown = "..."
            outside = "is an ordinary Python value, which Triton does not read from outside the kernel"
            self.refuse("constants", node, f"`{name}` {outside}: write `{name} = tl.constexpr({shown})`")
        elif len(value.args) != 1 or value.keywords:
            self.refuse("constants", node, "tl.constexpr takes one literal number")
        elif not self.is_dtype(value.args[0]):
            try:
                number(value.args[0])
            except NotLiteral as error:
                example = f"`{name} = tl.constexpr(1.4427)`"
                self.refuse("constants", node, f"{error}: write the number out, as in {example}")

    def is_dtype(self, node: ast.expr) -> bool:
        return triton_path(node, self.aliases).removeprefix("triton.language.") in DTYPES

    def recursion(self) -> None:
        calls = {
            name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.functions}
            for name, node in self.functions.items()
        }
        for name, node in self.functions.items():
            reached, waiting = set(), list(calls[name])
            while waiting:
                other = waiting.pop()
                if other not in reached:
                    reached.add(other)
                    waiting += calls[other]
            if name in reached:
                self.refuse("helpers", node, f"`{name}` calls itself, which Triton cannot compile: use a loop")

    def signature(self, node: ast.FunctionDef, kernel: KernelSource, puzzle: Puzzle) -> None:
        if kernel.kernel != puzzle.kernel:
            self.refuse("name", node, f"the kernel must be called `{puzzle.kernel}`, not `{kernel.kernel}`")
        for message in _parameter_differences([a.arg for a in node.args.args], list(puzzle.parameters)):
            self.refuse("signature", node, message)
        constexprs = constexpr_parameters(puzzle)
        for argument in node.args.args:
            name, annotation = argument.arg, argument.annotation
            marked = annotation is not None and triton_path(annotation, self.aliases) == "triton.language.constexpr"
            if name in constexprs and not marked:
                message = f"`{name}` is known when the kernel is compiled: write `{name}: tl.constexpr`"
                self.refuse("signature", argument, message)
            elif name in puzzle.parameters and name not in constexprs and annotation is not None:
                self.refuse("signature", argument, f"`{name}` is given at run time: write it without an annotation")
        tiles = puzzle.film.case.meta
        for name in (name for config in kernel.configs for name in config.meta if name not in tiles):
            what = "the launch sets" if name in constexprs else "is no parameter of this kernel"
            message = f"autotune may choose {', '.join(tiles)}, but not `{name}`, which {what}"
            self.refuse("autotune", node, message)


def constexpr_parameters(puzzle: Puzzle) -> frozenset[str]:
    """The parameters that the course's launch passes as constexprs."""
    case = puzzle.film.case
    return frozenset(puzzle.launch(case, puzzle.make(case), case.meta).meta)


def _parameter_differences(got: list[str], wanted: list[str]) -> list[str]:
    """How a kernel's parameters differ from the puzzle's, in sentences."""
    missing = [name for name in wanted if name not in got]
    extra = [name for name in got if name not in wanted]
    messages = []
    for name in list(missing):
        same_place = got[wanted.index(name)] if wanted.index(name) < len(got) else None
        if same_place in extra and len(got) == len(wanted):
            renamed: str | None = same_place
        else:
            renamed = next(iter(difflib.get_close_matches(name, extra, n=1, cutoff=0.75)), None)
        if renamed is not None:
            messages.append(
                f"the parameter `{name}` was renamed to `{renamed}`: the course passes arguments by name, so call it `{name}` again"
            )
            missing.remove(name)
            extra.remove(renamed)
    for names, one, several in (
        (missing, "is missing", "are missing"),
        (extra, "is not part of this puzzle: take it out", "are not part of this puzzle: take them out"),
    ):
        if names:
            which = "parameter" if len(names) == 1 else "parameters"
            listed = join(f"`{name}`" for name in names)
            messages.append(f"the {which} {listed} {one if len(names) == 1 else several}")
    if not messages and got != wanted:
        messages.append(f"the parameters are in another order: it is ({', '.join(wanted)})")
    return messages


def is_untouched(source: KernelSource) -> bool:
    """Whether the learner's region (between the markers, else the whole body) holds only comments and `pass`.

    The stub may have statements around the region; a `tl.store` out there counts as an attempt.
    """
    try:
        tree = parse(source.source)
    except SyntaxError:
        return False
    node = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == source.kernel), None)
    if node is None:
        return False
    lines = list(enumerate(source.source.split("\n"), start=1))[node.lineno - 1 :]
    start = next((number for number, text in lines if text.strip().startswith(START)), None)
    end = next((number for number, text in lines if text.strip().startswith(END)), (node.end_lineno or 0) + 1)
    written = [n for n in node.body if not _says_nothing(n)]
    if start is None:
        return not written
    around = [n for n in written if not start < n.lineno < end]
    stores = any(
        isinstance(n, ast.Attribute) and n.attr == "store" for statement in around for n in ast.walk(statement)
    )
    late = any(n.lineno > end for n in around)
    return len(around) == len(written) and not stores and not late


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return isinstance(node.value.value, str) or node.value.value is ...
    return isinstance(node, ast.Pass)
