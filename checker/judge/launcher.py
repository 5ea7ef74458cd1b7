"""A function around kernels, under judgement: the sandbox calls it, and what it returned is compared here.

It is ordinary Python, so no rule binds it, and what its process says of launches serves the card. Outputs and inputs are compared here.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from checker.judge import values_gate
from checker.judge.factors import described
from checker.judge.gpu_gate import NOT_RUN
from checker.judge.launches import Prepared, bind, cases_of, prepare, prepare_all, with_finite_poison
from checker.judge.outcome import Candidate, Failure, Outcome, judged
from checker.judge.promises import Promises
from checker.judge.runner import CallReport, Launched, Noticed, RunResult
from checker.judge.verdict import GateResult, Mismatch
from checker.phrases import count, join
from checker.puzzle import Case, Launcher, Puzzle
from checker.submission import rules
from checker.submission.kernel import KernelSource, Piece
from checker.submission.load import ENTRY
from checker.workspace import COURSE

NO_NUMBERS = (
    "On a GPU the CPU would wait there for everything before, and a CUDA graph cannot record it. Decide by shapes and types only: the "
    "kernels read the numbers."
)
IN_A_GRAPH = (
    "While a graph is recorded, nothing may wait for the GPU, and nothing may be copied to it from ordinary memory: allocate with "
    "`device=q.device`, and read no number."
)
AS_AN_OPERATOR = (
    'Write `@torch.library.custom_op("tile_by_tile::NAME", mutates_args=())` above it, with a type at each parameter, and register a '
    "function that makes the output's shape, as the stub does."
)
_LINE = re.compile(r"line (\d+)( of [\w./-]+\.py)?")


def complete(launcher: Launcher, source: KernelSource) -> KernelSource:
    """The module that a job runs: also the course's own kernel for each that the text does not define, and what the job calls."""
    defined = {node.name for node in ast.parse(source.source).body if isinstance(node, ast.FunctionDef)}
    lines, pieces = source.source.split("\n"), list(source.pieces)
    for kernel in (used.puzzle.kernel for used in launcher.kernels):
        if kernel not in defined:
            name = f"solutions/{kernel.removesuffix('_kernel')}.py"
            text = (COURSE / name).read_text("utf-8").split("\n")
            pieces.append(Piece(len(lines) + 1, len(lines) + len(text), name, 1))
            lines += text
    peer, imports = launcher.peer, ("import torch", "from collections.abc import Callable")
    lines += [*imports, inspect.getsource(peer), "from checker.lens.calls import Caller"]
    lines += [f"{ENTRY} = Caller({source.kernel}, {peer.__name__})", ""]
    return replace(source, source="\n".join(lines), pieces=tuple(pieces))


@dataclass
class LauncherCheck:
    """The gates of a function around kernels; `right` of its calls that `run` in the simulator had right values."""

    candidate: Candidate
    launcher: Launcher
    seed: int | None
    right: int = 0
    run: int = 0
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def puzzle(self) -> Puzzle:
        return self.candidate.puzzle

    def gates(self, on_gpu: bool) -> Iterator[GateResult]:
        """Each gate's result, in the order in which they are cheap. Whoever asks stops at the first that fails."""
        yield self.source_gate()
        self.candidate = replace(self.candidate, source=complete(self.launcher, self.candidate.source))
        cases = cases_of(self.puzzle, self.seed)
        small = [case for case in cases if "cpu" in case.devices]
        self.outcomes = self.calls(prepare_all(self.puzzle, [(case, None) for case in small]))
        self.right, self.run = sum(outcome.right for outcome in self.outcomes), len(small)
        yield self.values_gate()
        yield self.memory_gate()
        yield self.choice_gate()
        yield self.compile_gate(small[1])
        if not on_gpu:
            yield GateResult("gpu", "skipped", NOT_RUN)
            yield GateResult(
                "speed", "skipped", "A GPU times it beside a copy of the keys. That earns medals, and never decides."
            )
            return
        yield self.gpu_gate(small, [case for case in cases if "gpu" in case.devices and case not in small])
        yield self.speed_gate()

    def calls(self, prepared: Sequence[Prepared]) -> list[Outcome]:
        """Each case in one process, up to the first that does not end."""
        calls = [one.launch for one in prepared]
        results = self.candidate.runner.call(self.candidate.source, calls, on_gpu="on_gpu" in calls[0].options)
        outcomes: list[Outcome] = []
        for one, result in zip(prepared, map(self.in_own_lines, results), strict=False):
            outcomes.append(judged(self.puzzle, one, result))
            # with far too many splits the rest would take long, and show nothing new
            if self.chosen(outcomes[-1]) > self.launcher.most(one.case):
                break
        return outcomes

    def in_own_lines(self, result: RunResult) -> RunResult:
        """The result with each line in its words counted as the learner does."""
        own = self.candidate.source.line_words

        def words(text: str) -> str:
            return _LINE.sub(lambda match: own(int(match[1])), text)

        called = result.called and replace(
            result.called,
            noticed=tuple(
                replace(one, what=words(one.what), advice=words(one.advice)) for one in result.called.noticed
            ),
        )
        return replace(result, message=words(result.message), called=called)

    # ------------------------------------------------------------------------------------------------------- the gates

    def source_gate(self) -> GateResult:
        source, wanted = self.candidate.source, self.puzzle.parameters
        if rules.is_untouched(source):
            message = "Nothing is written here yet. Put your lines between the two markers."
            return GateResult("source", "not_attempted", message, advice="The kernels are yours already: launch both.")
        names = next(
            tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args))
            for node in ast.parse(source.source).body
            if isinstance(node, ast.FunctionDef) and node.name == source.kernel
        )
        if names != wanted:
            message = (
                f"{source.kernel} takes {join(names) or 'nothing'}, and should take {join(wanted)}, in this order."
            )
            return GateResult("source", "forbidden", message, advice="Write the parameters as in the stub.")
        return GateResult(
            "source", "passed", "It takes what it should. The rules for kernels do not bind a function around them."
        )

    def values_gate(self) -> GateResult:
        failing = values_gate.failing_outcome(self.puzzle, self.outcomes)
        if failing is None:
            return values_gate.passed(self.puzzle, self.outcomes)
        return self.explained(failing, self.outcomes)

    def explained(self, failing: Outcome, outcomes: Sequence[Outcome]) -> GateResult:
        """A call that did not end, or whose values are wrong: what was seen, or what sets its case apart, is the advice."""
        result = values_gate.failed(self.candidate, Failure(failing, outcomes))
        message = result.message.replace("The kernel", "Your function")
        seen, remark = next(self.of_calls(failing), None), self.remark(outcomes)
        if seen is None and not remark:
            seen = next(self.evidence(failing), None)
        advice = f"{seen.what} {seen.advice}" if seen else remark
        mismatch = result.mismatch
        if mismatch is not None:
            message = f"{message} {self.step(mismatch)}"
        return replace(
            result,
            message=message,
            line=result.line or (seen.line if seen else None),
            advice=advice.strip() or result.advice,
            detail=result.detail or launches_in_words(failing),
        )

    def step(self, mismatch: Mismatch) -> str:
        last = int(mismatch.output.rpartition("_")[2])
        return f"{mismatch.output} is what call {last + 1} of {self.launcher.steps} returned."

    def remark(self, outcomes: Sequence[Outcome]) -> str:
        """What the puzzle says where all failing cases are of one kind, and hardly any other is."""
        failing = [outcome.case for outcome in outcomes if not outcome.right]
        right = [outcome.case for outcome in outcomes if outcome.right]
        fitting = [one for one in self.launcher.remarks if all(map(one.holds, failing))]
        others = {one: sum(map(one.holds, right)) for one in fitting}
        best = min(fitting, key=others.__getitem__, default=None)
        return best.advice if best is not None and others[best] <= len(failing) and others[best] < len(right) else ""

    def memory_gate(self) -> GateResult:
        for outcome in self.outcomes:
            for seen in self.evidence(outcome):
                return GateResult(
                    *("memory", "failed", f"{seen.what} It happens with {described(outcome.case)}.", seen.line),
                    detail=launches_in_words(outcome),
                    advice=seen.advice,
                    case=outcome.case,
                )
        for case, result in self.looked():
            wrong = self.stopped(result) or next(self.of_launches(case, result.called or CallReport()), None)
            if wrong is not None:
                what = " ".join(filter(None, (wrong.what, f"That is with {case.name}.", self.so_far(wrong.names))))
                return GateResult("memory", "failed", what, wrong.line, advice=wrong.advice, case=case)
        message = (
            "It leaves its inputs as they are, returns new memory, and asks for no number that lies on the GPU. Its launches keep what the "
            f"kernels may assume, also in {len(self.shapes)} calls of other shapes, in which they were only looked at."
        )
        return GateResult("memory", "passed", message)

    @property
    def shapes(self) -> tuple[Case, ...]:
        """The launcher's fixed shapes, and random ones in a graded run."""
        drawn = () if self.seed is None else self.launcher.drawn(Random(self.seed))
        return (*self.launcher.shapes, *drawn)

    def looked(self) -> Iterator[tuple[Case, RunResult]]:
        """What each of the `shapes` would launch."""
        calls = [
            replace(
                bind(self.puzzle, case, self.puzzle.make(case), None),
                options={"cores": int(case.flags["MULTIPROCESSORS"])},
            )
            for case in self.shapes
        ]
        results = self.candidate.runner.call(self.candidate.source, calls, on_gpu=False)
        return zip(self.shapes, map(self.in_own_lines, results), strict=False)

    def so_far(self, names: Sequence[str]) -> str:
        """What these numbers were in the calls that were simulated, all of them right."""
        passed = [one.numbers for outcome in self.outcomes for one in launches_of(outcome)]
        ranges = {name: sorted({numbers[name] for numbers in passed if name in numbers}) for name in names}
        words = [f"{name} was {' to '.join(map(str, dict.fromkeys((r[0], r[-1]))))}" for name, r in ranges.items() if r]
        return f"In the calls that were simulated {join(words)}, so they were right by luck." if words else ""

    def stopped(self, result: RunResult) -> Noticed | None:
        if result.status == "passed":
            return None
        return Noticed(result.message.replace("The kernel", "Your function"), "", result.line)

    def choice_gate(self) -> GateResult:
        choice, chosen = self.launcher.choice, list[str]()
        for outcome in self.outcomes:
            n, most = self.chosen(outcome), self.launcher.most(outcome.case)
            if n > most:
                message = f"{choice} is {n}, and more than {most} make no sense ({described(outcome.case)})."
                detail = launches_in_words(outcome)
                return GateResult(
                    "traffic", "failed", message, detail=detail, advice=self.launcher.too_many, case=outcome.case
                )
            chosen.append(f"{n}")
        ends = (self.outcomes[0], max(self.outcomes, key=self.chosen))
        words = "; ".join(f"with {described(outcome.case)} it launched {in_words(outcome)}" for outcome in ends)
        return GateResult("traffic", "passed", f"{words[0].upper()}{words[1:]}.")

    def chosen(self, outcome: Outcome) -> int:
        return max((one.numbers.get(self.launcher.choice, 0) for one in launches_of(outcome)), default=0)

    def compile_gate(self, case: Case) -> GateResult:
        outcome = self.calls([called(prepare(self.puzzle, case), "planned")])[0]
        if outcome.ran:
            message = "It is an operator that torch.compile can plan with: it says what it returns without a launch."
            return GateResult("compile", "passed", message)
        reason = outcome.result.message.rstrip(".")
        message = f"torch.compile cannot take it as one operator. {reason}."
        return GateResult("compile", "compile_error", message, outcome.result.line, advice=AS_AN_OPERATOR)

    # -------------------------------------------------------------------------------------------------- what was seen

    def evidence(self, outcome: Outcome) -> Iterator[Noticed]:
        """What is wrong with a call whatever it returned, the most telling first."""
        called = outcome.result.called
        if called is None:
            return
        yield from self.of_calls(outcome)
        for damage in outcome.damage:
            inside = "was changed" if damage.inside else "was written around"
            advice = "An input belongs to the caller, and the next layer reads it, too: work on a copy, or in memory of your own."
            yield Noticed(f"{damage.tensor} is an input, and {inside}.", advice)
        yield from called.noticed
        if called.read is not None:
            where = self.candidate.source.line_words(called.read.line)
            what = f"{called.read.what} asks for a number of an input{f', in {where}' if where else ''}."
            yield replace(called.read, what=what, advice=NO_NUMBERS)

    def of_calls(self, outcome: Outcome) -> Iterator[Noticed]:
        """What is wrong with the launches of a case, and with what its calls returned."""
        called = outcome.result.called or CallReport()
        yield from self.of_launches(outcome.case, called)
        if len(set(called.returned)) < len(called.returned):
            what = "Two calls returned the same memory, so the second token's output replaced the first's."
            yield Noticed(what, "Allocate the output in each call. PyTorch's allocator makes that cheap.")

    def of_launches(self, case: Case, called: CallReport) -> Iterator[Noticed]:
        for launches, returned in zip(called.launches, called.returned, strict=False):
            yield from self.of_step(case, launches, returned)

    def of_step(self, case: Case, launches: Sequence[Launched], returned: int) -> Iterator[Noticed]:
        choice, kernels = self.launcher.choice, {used.puzzle.kernel: used for used in self.launcher.kernels}
        for kernel in kernels:
            if not any(one.kernel == kernel for one in launches):
                advice = "It is a launcher: the kernels are to compute the output, and nothing else. Launch both, one after the other."
                yield Noticed(f"No launch of {kernel} was seen.", advice)
        values = {one.kernel: one.numbers[choice] for one in launches if choice in one.numbers}
        if len(set(values.values())) > 1:
            each = join(f"{value} in {kernel}" for kernel, value in values.items())
            advice = f"The scratch of {choice.lower()} that nobody wrote may hold anything. Pass one {choice} to each kernel."
            yield Noticed(f"{choice} is {each}.", advice)
        known = [(kernels[one.kernel], one) for one in launches if one.kernel in kernels]
        written = {
            one.tensors[name].start for used, one in known for name in used.puzzle.outputs if name in one.tensors
        }
        for used, one in known:
            yield from Promises(used, case, one, frozenset(written - {returned})).broken()

    # ------------------------------------------------------------------------------------------------------ on a GPU

    def gpu_gate(self, small: Sequence[Case], large: Sequence[Case]) -> GateResult:
        """Every third small case and the large ones, in one process. Those of a graph are the same in new memory."""
        plain = [called(prepare(self.puzzle, case), "on_gpu") for case in (*small[1::3], *large)]
        graphs = [called(with_finite_poison(self.puzzle, one), "on_gpu", "graph") for one in (*plain[1:2], *plain[-2:])]
        compiled = called(with_finite_poison(self.puzzle, plain[0]), "on_gpu", "compiled")
        outcomes = self.calls([*plain, *graphs, compiled])
        failing = values_gate.failing_outcome(self.puzzle, outcomes)
        if failing is not None:
            way = way_of(failing)
            result = self.explained(failing, [outcome for outcome in outcomes if way_of(outcome) == way])
            advice = IN_A_GRAPH if "graph" in way and not failing.ran else result.advice
            return replace(result, gate="gpu", message=f"{WAYS[way]}: {result.message}", advice=advice)
        damaged = next((outcome for outcome in outcomes if outcome.damage), None)
        if damaged is not None:
            message = f"{WAYS[way_of(damaged)]}, {damaged.damage[0].tensor} changed ({described(damaged.case)})."
            return GateResult("gpu", "failed", message, case=damaged.case)
        message = f"Right in {count(len(plain), 'case')}, {len(large)} of them large; also when a CUDA graph replays it, and through torch.compile."
        return GateResult("gpu", "passed", message)

    def speed_gate(self) -> GateResult:
        """Times in words. It never decides whether a function passes."""
        words, medals = list[str](), self.launcher.medals
        calls = [
            replace(bind(self.puzzle, case, self.launcher.timed(case), None), options={"on_gpu": 1, "timed": 1})
            for case, _ in medals
        ]
        results = self.candidate.runner.call(self.candidate.source, calls, on_gpu=True)
        for (case, share), result in zip(medals, results, strict=False):
            timings = dict(result.called.timings) if result.called is not None else {}
            if not {"yours", "copy"} <= timings.keys():
                words.append(f"{described(case)} could not be timed: {result.message}")
                continue
            copy = timings.pop("copy").median
            rates = [
                f"{name} {t.median * 1e6:.0f} µs, {copy / t.median:.2f} of a copy's rate" for name, t in timings.items()
            ]
            won = copy / timings["yours"].median >= share
            words.append(f"{described(case)}: {'; '.join(rates)}. {'A medal' if won else f'A medal needs {share:.2f}'}")
        return GateResult("speed", "passed", "\n".join(f"{one}." for one in words))


WAYS = {
    ("on_gpu",): "On the GPU",
    ("on_gpu", "graph"): "Replayed by a CUDA graph",
    ("on_gpu", "compiled"): "Through torch.compile",
}


def called(prepared: Prepared, *options: str) -> Prepared:
    """The case, to be called as the options say."""
    return replace(prepared, launch=replace(prepared.launch, options=dict.fromkeys(options, 1)))


def way_of(outcome: Outcome) -> tuple[str, ...]:
    return tuple(outcome.prepared.launch.options)


def launches_of(outcome: Outcome) -> list[Launched]:
    """All launches of a case's first call."""
    called = outcome.result.called
    return list(called.launches[0]) if called is not None and called.launches else []


def in_words(outcome: Outcome) -> str:
    """``decode_attention_paged_kernel[(3, 4)] and …``"""
    return join(f"{one.kernel}[{one.grid}]" for one in launches_of(outcome)) or "nothing"


def launches_in_words(outcome: Outcome) -> str:
    """A line for each launch of the first call, with the numbers that it passed."""
    lines = [
        f"{one.kernel}[{one.grid}], "
        + ", ".join(f"{name} = {value}" for name, value in one.numbers.items() if "stride" not in name)
        for one in launches_of(outcome)
    ]
    return "\n".join(["It launched:", *lines]) if lines else ""
