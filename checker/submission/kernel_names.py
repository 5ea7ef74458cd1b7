"""What the names in one function stand for: Triton's, the module's, or the function's own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from checker.submission.vocabulary import BUILTINS, DTYPES, FUNCTIONS, MATH, TRITON

_LANGUAGE = "triton.language"


@dataclass(frozen=True)
class Finding:
    """A broken rule at a line of the emitted module."""

    rule: str
    line: int
    message: str


class KernelNames:
    """One function among the imports, constants and functions of its module, and what was found wrong with it so far."""

    def __init__(
        self, node: ast.FunctionDef, aliases: Mapping[str, str], constants: set[str], functions: set[str]
    ) -> None:
        self.node = node
        self.aliases = aliases
        self.constants = constants
        self.functions = functions
        self.found: list[Finding] = []
        parameters = {a.arg for a in node.args.args}
        self.locals = parameters | {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }

    def refuse(self, rule: str, node: ast.AST, message: str) -> None:
        self.found.append(Finding(rule, getattr(node, "lineno", self.node.lineno), message))

    def module_of(self, name: str) -> str | None:
        return None if name in self.locals else self.aliases.get(name)

    def is_module(self, node: ast.expr) -> bool:
        """Whether the expression is a module (``tl``, ``tl.math``, ``triton.language.core``) or begins with one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and self.module_of(node.id) is not None and not self.is_value(node)

    def is_value(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.locals

    def language_name(self, node: ast.expr) -> str | None:
        """The NAME of ``tl.NAME``, under whatever name the module was imported; None for anything else."""
        if not isinstance(node, ast.Attribute):
            return None
        match node.value:
            case ast.Name(id=name) if self.module_of(name) == _LANGUAGE:
                return node.attr
            case ast.Attribute(value=ast.Name(id=name), attr="language") if self.module_of(name) == "triton":
                return node.attr
        return None

    def called(self, node: ast.Call) -> str | None:
        """What a call calls: "tl.load", "triton.cdiv", a builtin or helper by its name; None for everything else."""
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.locals:
            return function.id if function.id in BUILTINS | self.functions and function.id not in self.aliases else None
        known = self.language_name(function)
        if known is not None:
            return f"tl.{known}" if known in FUNCTIONS - DTYPES else None
        match function:
            case ast.Attribute(value=value, attr=attr) if self.language_name(value) == "math":
                return f"tl.math.{attr}" if attr in MATH else None
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                self.module_of(name) == "triton" and attr in TRITON
            ):
                return f"triton.{attr}"
        return None
