"""Cases as launches: fresh inputs, poisoned outputs, and a guard band around every tensor.

Every tensor is placed inside a larger storage. What lies before it, after it and in the gaps between its rows is filled
with a pattern that must still be there, bit for bit, when the kernel has ended. Outputs start as poison, so that an
element which nobody wrote, or which was added to, cannot look right by luck.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import torch
from cachetools import LRUCache, cached

from checker.judge import factors
from checker.judge.gpu_arithmetic import Move, where_it_runs
from checker.puzzle import NORMAL, Case, Launch, Puzzle, Scalar, Tensors
from checker.submission.kernel import Config

GUARD = 2048
"""Elements before and after every tensor; a multiple of 16 keeps the alignment that Triton specialises on."""
_CACHED_BYTES = 192 << 20
_FINITE_POISON = -7936.0  # exact in float16 and bfloat16, far from any answer of the course
_INTEGER_PATTERN = 0x2A2A2A2A


@dataclass(frozen=True)
class Prepared:
    """One launch, ready to run, with everything needed to judge it afterwards.

    `expected` holds the float64 reference of every output; `before` the whole storage of every tensor as it was.
    """

    case: Case
    launch: Launch
    expected: Tensors
    before: Tensors
    config: Config | None = None

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """The launch's tensor arguments, by parameter."""
        return {name: value for name, value in self.launch.arguments.items() if isinstance(value, torch.Tensor)}

    @property
    def elements(self) -> int:
        """Of all outputs together."""
        return sum(expected.numel() for expected in self.expected.values())


def seed_from(secret: bytes, puzzle: Puzzle) -> int:
    """The seed of a graded run: nobody can know it in advance, and it is the same at every regrade with the same secret."""
    return int.from_bytes(hmac.new(secret, puzzle.name.encode(), hashlib.sha256).digest()[:4], "big")


def cases_of(puzzle: Puzzle, seed: int | None) -> tuple[Case, ...]:
    """The puzzle's cases. With a seed, they hold other numbers, and random cases follow them."""
    if seed is None:
        return tuple(puzzle.cases)
    random = Random(seed)
    return (*(replace(case, seed=random.getrandbits(32)) for case in puzzle.cases), *puzzle.drawn(random))


def prepare(puzzle: Puzzle, case: Case, config: Config | None = None) -> Prepared:
    """Make the case's tensors, compute the reference, and bind the launch.

    `config` is one of the learner's autotune configurations; without it the case's own tile sizes are used.
    """
    inputs = _cached_inputs(puzzle, case) if "cpu" in case.devices else _computed(puzzle, case)
    return _placed(puzzle, case, config, *inputs)


def prepare_if_possible(puzzle: Puzzle, case: Case, config: Config | None) -> Prepared | None:
    """None for a case that the puzzle cannot make at such sizes."""
    try:
        return prepare(puzzle, case, config)
    except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
        return None


def _computed(puzzle: Puzzle, case: Case) -> tuple[Tensors, Tensors]:
    """The case's tensors, and the float64 reference of every output."""
    made = puzzle.make(case)

    def reference(move: Move) -> Tensors:
        on_device = {name: move(t) for name, t in made.items()}
        rounded = {name: t.double() if t.is_floating_point() else t for name, t in on_device.items()}
        return puzzle.reference(case, rounded)

    return made, {name: expected.cpu() for name, expected in where_it_runs(case, reference).items()}


def _size(tensors: tuple[Tensors, Tensors]) -> int:
    """Bytes."""
    return sum(tensor.untyped_storage().nbytes() for group in tensors for tensor in group.values())


@cached(
    LRUCache(_CACHED_BYTES, getsizeof=_size),
    key=lambda puzzle, case: (puzzle.make, puzzle.reference, case),
    lock=threading.Lock(),
)
def _cached_inputs(puzzle: Puzzle, case: Case) -> tuple[Tensors, Tensors]:
    """As `_computed`, remembered because a learner checks one kernel again and again. Nobody changes them: launches get copies."""
    return _computed(puzzle, case)


Planned = tuple[Case, Config | None]
"""A case and the configuration that it runs with; None: the tiles that the course chose."""
Factor = tuple[str | Scalar, ...]
"""Something about a case: a dtype, the name of what the case has with it, its value."""


def plan(cases: Sequence[Case], configs: Sequence[Config]) -> list[Planned]:
    """Which case the simulator runs with which configuration: the first configuration with all, every other with enough of them to be trusted.

    With a configuration each case is cut into the learner's tiles, see `in_tiles`.
    """
    return _planned(cases, configs, _trusted_on)


def plan_on_gpu(cases: Sequence[Case], configs: Sequence[Config]) -> list[Planned]:
    """The same for a GPU, which compiles each configuration anew: every configuration but the first with the smallest and the largest case."""
    return _planned(cases, configs, _extremes)


def _planned(
    cases: Sequence[Case], configs: Sequence[Config], choose: Callable[[Sequence[Case]], list[Case]]
) -> list[Planned]:
    """All cases with the first configuration, the chosen ones with every other."""
    if not configs:
        return [(case, None) for case in cases]
    chosen = choose(cases)
    pairs = [(case, configs[0]) for case in cases] + [(case, config) for config in configs[1:] for case in chosen]
    return [(in_tiles(case, config), config) for case, config in pairs]


def _extremes(cases: Sequence[Case]) -> list[Case]:
    """The smallest and the largest case."""
    ordered = sorted(cases, key=volume)
    return ordered if len(ordered) < 2 else [ordered[0], ordered[-1]]


MOST_GROWN = 4096
"""A size that grows with its tile stays within this many elements, or as large as it was."""


def in_tiles(case: Case, config: Config) -> Case:
    """The case in the tiles of a configuration: a size whose tile grows gets as many tiles as before, with the same remainder.

    Otherwise tiles of 128 would swallow most cases whole, and nobody would see the loop over tiles.
    """
    meta = {name: value for name, value in config.meta.items() if name in case.meta and isinstance(value, int)}
    if all(case.meta[name] == value for name, value in meta.items()):
        return case
    sizes = dict(case.sizes)
    for name, size in case.sizes.items():
        tile = factors.tile_of(name, case.meta)
        if tile in meta and "cpu" in case.devices:
            full, rest = divmod(size, case.meta[tile])
            sizes[name] = max(size, min(full * meta[tile] + rest, MOST_GROWN))
    return replace(case, sizes=sizes, meta={**case.meta, **meta})


def covering(
    cases: Sequence[Case], factors_of: Callable[[Case], set[Factor]], first: Sequence[Case] = ()
) -> list[Case]:
    """Few of the cases, in their order, that have every factor which any of them has. Those of `first` are among them."""
    chosen = list(first)
    left: set[Factor] = set().union(*map(factors_of, cases)).difference(*map(factors_of, first))
    while left:
        chosen.append(max(cases, key=lambda case: len(factors_of(case) & left)))
        left -= factors_of(chosen[-1])
    return [case for case in cases if case in chosen]


def _trusted_on(cases: Sequence[Case]) -> list[Case]:
    """What a further configuration is judged on: every dtype with every family, layout, flag and number of features, the smallest and the largest case."""
    return covering(cases, _factors, _extremes(cases))


def _factors(case: Case) -> set[Factor]:
    features = {name: size for name, size in case.sizes.items() if name in ("D", "D_V")}
    found: dict[str, Scalar | str] = {**case.flags, **features, "layout": case.layout, "family": case.family.name}
    return {(case.dtype, name, value) for name, value in found.items()}


def volume(case: Case) -> int:
    """The product of a case's sizes, by which small and large cases are told apart."""
    return math.prod(max(size, 1) for size in case.sizes.values())


def prepare_all(puzzle: Puzzle, planned: Sequence[Planned]) -> list[Prepared]:
    """The cases that the simulator runs, which are small."""
    return [prepare(puzzle, case, config) for case, config in planned]


def with_finite_poison(puzzle: Puzzle, prepared: Prepared) -> Prepared:
    """The same case in new memory, its outputs filled with another poison; the reference is not computed again."""
    return _placed(puzzle, prepared.case, prepared.config, prepared.tensors, prepared.expected, finite=True)


def _placed(
    puzzle: Puzzle, case: Case, config: Config | None, made: Tensors, expected: Tensors, finite: bool = False
) -> Prepared:
    """The poison of outputs is NaN, or a `finite` number; that too where the reference holds NaN, which would hide that nothing was written."""
    placed = {}
    for name, tensor in made.items():
        guarded = _guarded(tensor)
        if name in puzzle.outputs:
            guarded.fill_(_poison(guarded.dtype, finite or bool(expected[name].isnan().any())))
        else:
            _once(guarded).copy_(_once(tensor))
        placed[name] = guarded
    before = {name: whole(tensor).clone() for name, tensor in placed.items()}
    return Prepared(case, bind(puzzle, case, placed, config), expected, before, config)


def without_numbers(puzzle: Puzzle, case: Case, config: Config | None = None) -> Launch:
    """A case's launch as the compiler sees it: sizes, strides and types of tensors that take no memory, however large.

    They do not depend on the family, and ordinary numbers are made without looking at any.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        made = puzzle.make(replace(case, family=NORMAL))
    return _as_compiled(puzzle, case, made, config)


def with_zeros(puzzle: Puzzle, case: Case, config: Config | None = None) -> Launch:
    """As `without_numbers`, for a case that fits into memory: zeros instead of random numbers, which take seconds to draw.

    Fake tensors take seconds, too: they import torch's compiler first.
    """
    from torch.overrides import TorchFunctionMode

    class Zeros(TorchFunctionMode):
        def __torch_function__(
            self,
            function: Callable[..., Any],
            types: object,
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            if function not in (torch.rand, torch.randn):
                return function(*args, **(kwargs or {}))
            return torch.zeros(*args, **{name: value for name, value in (kwargs or {}).items() if name != "generator"})

    with Zeros():
        made = puzzle.make(replace(case, family=NORMAL))
    return _as_compiled(puzzle, case, made, config)


def _as_compiled(puzzle: Puzzle, case: Case, made: Tensors, config: Config | None) -> Launch:
    empty = {name: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for name, t in made.items()}
    return bind(puzzle, case, empty, config)


def bind(puzzle: Puzzle, case: Case, tensors: Tensors, config: Config | None) -> Launch:
    meta: Mapping[str, Scalar] = case.meta if config is None else {**case.meta, **config.meta}
    launch = puzzle.launch(case, tensors, meta)
    return launch if config is None else replace(launch, options={**launch.options, **config.options})


def _guarded(tensor: torch.Tensor) -> torch.Tensor:
    """An uninitialised view with the shape and strides of `tensor`, inside a storage filled with the guard pattern."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    span = span if tensor.numel() else 0
    storage = torch.full((GUARD + span + GUARD,), _poison(tensor.dtype), dtype=tensor.dtype)
    return torch.as_strided(storage, tensor.shape, tensor.stride(), GUARD)


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """Each element of memory once: a dimension with a stride of 0 has length 1."""
    return tensor[tuple(slice(1) if stride == 0 else slice(None) for stride in tensor.stride())]


def _poison(dtype: torch.dtype, finite: bool = False) -> float | int:
    if not dtype.is_floating_point:
        return _INTEGER_PATTERN % (torch.iinfo(dtype).max + 1) if dtype != torch.bool else 1
    return _FINITE_POISON if finite else float("nan")


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's whole storage as one flat tensor of its dtype."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (count,), (1,), 0)


@dataclass(frozen=True)
class Damage:
    """Elements that changed and must not have: in an input, or outside an output.

    `offset` is the first such element, counted from the tensor's first element in memory (negative: before it).
    `inside` says that it is an element of the tensor, at `index`; otherwise it lies in a gap or past an end.
    """

    tensor: str
    offset: int
    inside: bool
    index: tuple[int, ...] | None
    count: int
    span: int


def damages(prepared: Prepared, after: Mapping[str, torch.Tensor]) -> list[Damage]:
    """What a launch changed although it must not. Raises ValueError where a tensor came back in another geometry."""
    found = []
    for name, old in prepared.before.items():
        tensor, start = after[name], prepared.tensors[name]
        now = whole(tensor)
        if (tensor.shape, tensor.stride(), now.numel()) != (start.shape, start.stride(), old.numel()):
            raise ValueError(
                f"{name} came back from the launch with another shape, stride or storage than it went in with"
            )
        changed = _bits(now) != _bits(old)
        if name in prepared.launch.outputs:
            changed[_inside(tensor, now.numel())] = False
        if changed.any():
            found.append(_damage(name, tensor, changed))
    return found


def _bits(flat: torch.Tensor) -> np.ndarray:
    """The elements as integers: NaN is compared like every other pattern of bits."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    return flat.detach().view(integers).numpy()


def _inside(tensor: torch.Tensor, count: int) -> np.ndarray:
    """Which elements of the storage belong to the tensor."""
    inside = np.zeros(count, dtype=bool)
    np.lib.stride_tricks.as_strided(inside[GUARD:], tensor.shape, tensor.stride())[...] = True
    return inside


def _damage(name: str, tensor: torch.Tensor, changed: np.ndarray) -> Damage:
    first = int(changed.argmax())
    inside = bool(_inside(tensor, changed.size)[first])
    index = _index(first - GUARD, tensor.shape, tensor.stride()) if inside else None
    return Damage(name, first - GUARD, inside, index, int(changed.sum()), changed.size - 2 * GUARD)


def _index(offset: int, shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The index of the element at `offset`, for strides that do not overlap."""
    index = [0] * len(shape)
    for dim in sorted(range(len(shape)), key=lambda d: -strides[d]):
        if strides[dim] > 0 and shape[dim] > 1:
            index[dim], offset = divmod(offset, strides[dim])
    return tuple(index)
