"""Kernels as text and as syntax trees: what the kinds of mutants share."""

from __future__ import annotations

import ast

from checker.misconceptions import solution
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource, Piece


def solution_module(puzzle: Puzzle) -> ast.Module:
    """The solution without docstrings and comments."""
    return ast.parse(solution(puzzle.name))


def function_of(module: ast.Module, name: str) -> ast.FunctionDef:
    return next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name)


def source_of(puzzle: Puzzle, text: str) -> KernelSource:
    """A kernel's module as a submission."""
    return KernelSource(puzzle.name, puzzle.kernel, text, (Piece(1, text.count("\n"), f"{puzzle.name}.py", 1),))
