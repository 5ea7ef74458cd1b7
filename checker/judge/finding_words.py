"""The simulator's findings in words: the only place that turns their kinds into sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checker.judge.phrases import at_line, element
from checker.phrases import count, program, shape, short
from checker.simulator.trace import EventKind, Finding, Trace
from checker.submission.kernel import KernelSource

CHECK_STRIDES = (
    "Does that address use this tensor's own strides? If so, does the mask test the same indices as the address?"
)
"""Advice for lanes that leave a tensor in spite of a mask: a wrong stride leads out of it whatever the mask says."""

_ZERO_TODAY = " On a GPU they hold 0 today, because the machine code that Triton builds clears the register first. Nothing guarantees that."
"""Masked lanes without `other`: why a learner may have seen right numbers."""

_KEEP_INSIDE = {
    "mask": CHECK_STRIDES,
    "boundary_check": "Name every axis that may pass the edge in `boundary_check`, and compare the block pointer's shape and strides "
    "with those of this tensor.",
    "descriptor": "The descriptor's shape lets these lanes through: compare it and its strides with those of this tensor.",
}

_NAN_FROM = {
    "-": "inf - inf, or -inf - -inf, has no value",
    "+": "inf + -inf has no value",
    "*": "0 * inf has no value",
    "/": "0 / 0 and inf / inf have no value",
    "tl.sum": "inf and -inf in one sum have no value",
    "tl.dot": "0 * inf, or inf and -inf in one sum, have no value",
    "tl.log": "the logarithm of a negative number has no value",
    "tl.log2": "the logarithm of a negative number has no value",
    "tl.sqrt": "the root of a negative number has no value",
    "tl.rsqrt": "the root of a negative number has no value",
}
"""How each operation makes a NaN out of numbers."""

_INF_FROM = {
    "tl.exp": "float32 cannot hold the exponential of a number above 88.7",
    "tl.exp2": "float32 cannot hold 2 to the power of 128 or more",
    "/": "a number was divided by 0, or by a number close to 0",
    "*": "the product is larger than its type can hold",
    "+": "the sum is larger than its type can hold",
    "tl.sum": "the sum is larger than its type can hold",
    "tl.dot": "the sum is larger than its type can hold",
    ".to": "the number is larger than the new type can hold",
}
"""How each operation makes an infinity."""

_MAKES = {
    "create_mul": "the product",
    "create_add": "the sum",
    "create_sub": "the difference",
    "create_shl": "the shift",
    "create_int_cast": "the cast",
    "loop": "what grows in the loop",
    "loop_end": "the last step of the loop",
}
"""What a number that wraps around comes from."""

_VERBS: dict[EventKind, str] = {"load": "loads", "store": "stores", "atomic": "updates atomically"}


@dataclass(frozen=True)
class FindingWords:
    """`what` is wrong, as a sentence without its full stop; `why` that matters, and `advice`, in whole sentences."""

    what: str
    why: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}."


def in_words(finding: Finding, source: KernelSource, trace: Trace | None) -> FindingWords:
    """`trace` is the one with the finding; None for damage that only a GPU run showed."""
    return _Wording(finding, source, trace).words()


def sentences(findings: Iterable[Finding], source: KernelSource, trace: Trace | None) -> list[str]:
    """One sentence for each finding; what two findings share is said once."""
    return list(dict.fromkeys(str(in_words(finding, source, trace)) for finding in findings))


def _of_several(does: str) -> str:
    """``also store`` for ``also stores``, ``update atomically`` for ``updates atomically``."""
    return does.replace("s ", " ").removesuffix("s")


class _Wording:
    """The parts of sentences about one finding."""

    def __init__(self, finding: Finding, source: KernelSource, trace: Trace | None) -> None:
        self.finding, self.source = finding, source
        self.grid = trace.grid if trace else None
        self.tensor = short(finding.tensor or "a tensor")
        self.where = at_line(source, finding.line)
        self.example = ""
        if finding.elements and finding.tensor:
            self.example = f", for example {element(finding.tensor, finding.elements[0])}"
        info = trace.tensors.get(finding.tensor) if trace and finding.tensor else None
        self.shape = "" if info is None else shape(info.shape)
        self.lanes = count(finding.count, "lane") if finding.count else "lanes"
        self.elements = count(finding.count, "element") if finding.count else "elements"

    def words(self) -> FindingWords:
        return FindingWords(*getattr(self, self.finding.kind)())

    def who(self, ids: tuple[int, int, int] | None, unknown: str) -> str:
        return unknown if ids is None else program(ids, self.grid)

    def start(self, does: str) -> str:
        """``Program 0 stores``, ``Program 0 and another store``, ``Program 0 and 2 others store``, at the start of a sentence."""
        first, others = self.who(self.finding.program, "a program").capitalize(), self.finding.programs - 1
        if others < 1:
            return f"{first} {does}"
        return f"{first} and {'another' if others == 1 else f'{others:,} others'} {_of_several(does)}"

    def out_of_bounds(self, does: str) -> str:
        shape = f" ({self.shape})" if self.shape else ""
        return f"{self.start(does)} {self.lanes} outside {self.tensor}{shape}{self.example}{self.where}"

    def out_of_bounds_load(self) -> tuple[str, str, str]:
        return (
            self.out_of_bounds("reads"),
            "The values came out right in the simulator, but on a GPU such a load returns whatever is stored there, or the launch fails.",
            _KEEP_INSIDE[self.finding.guard]
            if self.finding.guard
            else "Mask the load: lanes whose index is not below the size must be switched off. For the last tile, write down which lanes those are.",
        )

    def out_of_bounds_store(self) -> tuple[str, str, str]:
        return (
            self.out_of_bounds("writes"),
            f"No program may touch that memory: it is not part of {self.tensor}.",
            _KEEP_INSIDE[self.finding.guard]
            if self.finding.guard
            else "Mask the store as the load is masked: only lanes that own an element may write.",
        )

    def modified_input(self) -> tuple[str, str, str]:
        return (
            f"{self.tensor} is an input, and {self.elements} of it changed{self.example}{self.where}",
            "",
            f"Keep results in registers and store only to the output; whoever called the kernel still needs {self.tensor}.",
        )

    def race(self) -> tuple[str, str, str]:
        kinds = self.finding.accesses
        what = f"Two programs touch the same {self.elements} of {self.tensor}, and one of them stores"
        if kinds is not None:
            also = "also stores" if kinds == ("store", "store") else _VERBS[kinds[1]]
            other = f"{self.who(self.finding.other, 'another program')} {also}"
            if self.finding.programs > 1:
                other = f"others {_of_several(also)}"
            what = f"{self.start(_VERBS[kinds[0]])} {self.elements} of {self.tensor} that {other}"
        return (
            f"{what}{self.example}{self.where}",
            "Programs run in any order and at the same time. This is a race, even if both happen to store the same value.",
            "Each output element must belong to exactly one program. Write down which elements two neighbouring programs store, masked lanes aside.",
        )

    def race_in_store(self) -> tuple[str, str, str]:
        return (
            f"Two lanes of one store write the same element of {self.tensor}{self.example}{self.where}",
            "The lanes of a store write at the same time, so chance decides which value stays.",
            "Within one program, each lane that is switched on must own an element. Write down the offsets of that store for a small tile: which of them are equal?",
        )

    def missing_barrier(self) -> tuple[str, str, str]:
        return (
            f"{self.start('loads')} from {self.tensor} what {'it' if self.finding.programs == 1 else 'each'} stored before, with no barrier in between{self.example}{self.where}",
            "The threads of a program do not wait for one another: one may load an element before another has stored it. "
            "The simulator runs them in step, so the values came out right.",
            "Make all threads wait with `tl.debug_barrier()` between the store and the next load of the same elements.",
        )

    def early_release(self) -> tuple[str, str, str]:
        lock, other = short(self.finding.operation or "a lock"), self.who(self.finding.other, "a program").capitalize()
        return (
            f"{other} releases {lock}{self.where}, before all of its threads are done with {self.elements} of {self.tensor} "
            f"that {self.who(self.finding.program, 'another program')} uses next{self.example}",
            "One thread does the atomic, and the others may lag behind: the next program may find old values there.",
            "Make all threads wait with `tl.debug_barrier()` before the release.",
        )

    def unwritten(self) -> tuple[str, str, str]:
        verb = "is" if self.finding.count == 1 else "are"
        return (
            f"{self.elements.capitalize()} of {self.tensor} {verb} never stored{self.example}",
            "",
            "Together the programs must store every element once. Compare the grid times the tile with the size.",
        )

    def false_promise(self) -> tuple[str, str, str]:
        promise, values = self.finding.operation, [self.value(v) for v in self.finding.values]
        said = f"{promise}(…, {self.finding.promised})" if self.finding.promised else promise
        if len(values) == 2:
            not_so = "is not the same as" if promise == "tl.max_constancy" else "is not one more than"
            lane = f"lane {self.finding.elements[0][0]} is " if self.finding.elements else ""
            truth = f"{lane}{values[1]}, which {not_so} {values[0]}"
        else:
            truth = f"{values[0]} is no multiple of {self.finding.promised}" if values else "the condition is false"
        who = self.who(self.finding.program, "a program")
        return (
            f"The promise {said}{self.where}, is not true: {truth}, in {who}",
            "The compiler relies on it: on a GPU such an access has a misaligned address, or reaches the wrong elements.",
            "Promise only what holds for every size and stride, or leave the promise out: a right kernel does not need it.",
        )

    def value(self, number: int) -> str:
        return str(number) if self.finding.tensor is None else f"byte {number} of {self.tensor}"

    def undefined_lanes(self) -> tuple[str, str, str]:
        block = self.finding.guard != "mask"
        lanes = "Lanes past the edge" if block else "Masked-off lanes"
        loaded = f" of {short(self.finding.loaded)}" if self.finding.loaded else ""
        reached = self.source.line_words(self.finding.reached_line) or "the kernel"
        does = f"what {reached} stores to {self.tensor}" if self.finding.tensor else f"the decision in {reached}"
        remedy = '`padding_option="zero"`' if block else "an `other`"
        return (
            f"{lanes} of the load{loaded}{self.where.removeprefix(',')} reach {does}",
            f"Without {remedy} they may hold anything.{'' if block else _ZERO_TODAY}",
            f"Give that load {remedy}: a value that changes neither the result nor anything computed on the way to it.",
        )

    def wrap(self) -> tuple[str, str, str]:
        operation, held = self.finding.operation or "", self.finding.type or ""
        made = _MAKES.get(operation, "a computation")
        exact = f"{self.finding.values[0]:,}" if self.finding.values else "a number"
        where, line = self.where.removeprefix(","), self.source.line_words(self.finding.reached_line)
        use = (
            f"{line} reaches the wrong elements of {self.tensor}"
            if self.finding.tensor
            else f"{line} uses it in a decision"
        )
        if held.startswith(("fp", "bf")) or operation.startswith(("create_fp_to", "create_fcmp")):
            return (
                f"a float{where} cannot hold the whole number that it stands for, and {use}",
                "float32 holds each whole number only up to 16,777,216, float16 up to 2,048, bfloat16 up to 256.",
                "Count, multiply and compare indices as integers.",
            )
        return (
            f"{made}{where} gives {exact}, which {held} cannot hold: it wraps around, and {use}",
            "",
            "Make one operand 64 bits wide before that operation, `.to(tl.int64)`."
            if held.endswith("32")
            else "Keep the number in the type that it had before, and make it 64 bits wide, `.to(tl.int64)`, before it is multiplied.",
        )

    def inf_born(self) -> tuple[str, str, str]:
        operation = self.finding.operation or "an operation"
        how = f" ({_INF_FROM[operation]})" if operation in _INF_FROM else ""
        return (
            f"{self.elements.capitalize()} of {self.tensor} became inf{self.example}; the first was made{self.where.removeprefix(',')} "
            f"by `{operation}` out of finite numbers{how}",
            "",
            "Is there a division by zero, or a number too large for its type? The largest float16 is 65,504.",
        )

    def nan_born(self) -> tuple[str, str, str]:
        operation = self.finding.operation
        made = f"`{operation}`" if operation else "an operation"
        how = f" ({_NAN_FROM[operation]})" if operation in _NAN_FROM else ""
        return (
            f"{self.tensor} holds NaN; {made} made the first one{self.where.removeprefix(',')} out of operands that were not NaN{how}",
            "",
            "Which operands make a NaN there, and where do their values come from?",
        )
