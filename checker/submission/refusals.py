"""What a learner is told about what a kernel cannot hold, and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from checker.submission.vocabulary import INSTEAD, PYTHON_INSTEAD

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
    return INSTEAD.get(name) or f"`tl.{name}` is not one of the functions of `tl` that this course uses"


def no_attribute(name: str) -> str:
    if name.startswith("_"):
        return f"`.{name}` belongs to Python: a kernel cannot use it"
    return INSTEAD.get(name) or f"`.{name}` is not something a kernel can use of a value"
