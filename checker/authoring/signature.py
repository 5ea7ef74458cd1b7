"""A kernel's signature, read from its solution: parameters, and the shapes that their comments give."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from checker.puzzle import DTYPES, Scalar, Tensors

SHAPE = re.compile(r"#\s*\[([^\]]*)\](?:.*?\b(float32|int32)\b)?")
DIMENSIONS = {"b": -4, "h": -3, "m": -2, "n": -2, "d": -1}
"""The dimension that the last letter of a stride stands for: batch, head, row (of queries, of keys), feature."""


@dataclass(frozen=True)
class Pointer:
    """A tensor as the signature's comment describes it: ``# [M, N] float32``. Without a dtype it has the case's."""

    shape: tuple[str, ...]
    dtype: str | None

    def elements(self, sizes: Mapping[str, Scalar]) -> int:
        count = 1
        for name in self.shape:
            count *= int(sizes[name])
        return count

    def itemsize(self, dtype: str) -> int:
        """Bytes of one element, in a case of this dtype."""
        return 4 if self.dtype else DTYPES[dtype].itemsize


@dataclass(frozen=True)
class Signature:
    kernel: str
    parameters: tuple[str, ...]
    constexpr: frozenset[str]
    pointers: Mapping[str, Pointer]

    @staticmethod
    def read(solution: Path) -> Signature:
        """The signature of the kernel named after its file.

        Raises FileNotFoundError without the solution, and ValueError if it has no such kernel.
        """
        text = solution.read_text("utf-8")
        kernel, lines = f"{solution.stem}_kernel", text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name == kernel:
                break
        else:
            raise ValueError(f"{solution.name} has no kernel called {kernel}")
        arguments = node.args.args
        constexpr = frozenset(a.arg for a in arguments if a.annotation and "constexpr" in ast.unparse(a.annotation))
        comments = {a.arg: SHAPE.search(lines[a.lineno - 1]) for a in arguments if a.arg.endswith("_ptr")}
        pointers = {
            name: Pointer(tuple(re.findall(r"\w+", comment[1])), comment[2])
            for name, comment in comments.items()
            if comment
        }
        parameters = tuple(a.arg for a in arguments)
        return Signature(kernel, parameters, constexpr, pointers)

    def values(
        self, tensors: Tensors, numbers: Mapping[str, Scalar], strides: Mapping[str, str]
    ) -> dict[str, torch.Tensor | Scalar]:
        """A value for each parameter: a tensor, a number of that name, or for ``stride_xm`` the stride of x along m.

        `strides` gives the tensor of a stride that is not named after one. A constexpr without a value is a flag that is off.
        Raises KeyError for any other parameter without a value.
        """

        def value(name: str) -> torch.Tensor | Scalar:
            if name in numbers:
                return numbers[name]
            if name in tensors:
                return tensors[name]
            if name.startswith("stride_"):
                tensor = name.removeprefix("stride_")[:-1]
                return tensors[f"{strides.get(tensor, tensor)}_ptr"].stride(DIMENSIONS[name[-1]])
            if name in self.constexpr:
                return False
            raise KeyError(f"{self.kernel} has a parameter {name}, and the puzzle gives it no value")

        return {name: value(name) for name in self.parameters}
