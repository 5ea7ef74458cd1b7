"""As much of torch as the course, the judge and the simulator use, on NumPy: for a page in a browser, where there is no torch.

Names, defaults, promotion of types and layouts in memory are torch's, and so are the numbers of a seeded generator, so that a kernel gets
the same verdict from either. What is missing raises AttributeError. Nothing here computes gradients or uses a GPU.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

VERSION = "small torch on NumPy"

# ---------------------------------------------------------------------------------------------------------------- types


@dataclass(frozen=True)
class dtype:
    """A type of elements; `numpy` is NumPy's."""

    name: str
    numpy: np.dtype

    @property
    def is_floating_point(self) -> bool:
        return self.numpy.kind not in "iub"

    @property
    def itemsize(self) -> int:
        """Bytes."""
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


_DTYPES: dict[np.dtype, dtype] = {}


def _dtype(name: str, numpy: Any) -> dtype:
    made = dtype(name, np.dtype(numpy))
    _DTYPES[made.numpy] = made
    return made


float64, float32, float16 = (_dtype(name, name) for name in ("float64", "float32", "float16"))
bfloat16 = _dtype("bfloat16", ml_dtypes.bfloat16)
float8_e5m2, float8_e4m3fn = (_dtype(name, getattr(ml_dtypes, name)) for name in ("float8_e5m2", "float8_e4m3fn"))
int64, int32, int16, int8 = (_dtype(name, name) for name in ("int64", "int32", "int16", "int8"))
uint8, uint16, uint32, uint64 = (_dtype(name, name) for name in ("uint8", "uint16", "uint32", "uint64"))
bool_ = _dtype("bool", np.bool_)


class finfo:
    """The limits of a type of floating point numbers."""

    def __init__(self, of: dtype) -> None:
        info = ml_dtypes.finfo(of.numpy)
        self.bits = 8 * of.itemsize
        self.max, self.min, self.eps = float(info.max), float(info.min), float(info.eps)
        self.tiny = self.smallest_normal = float(info.smallest_normal)


class iinfo:
    """The limits of a type of integers."""

    def __init__(self, of: dtype) -> None:
        info = np.iinfo(of.numpy)
        self.bits, self.max, self.min = info.bits, int(info.max), int(info.min)


class device:
    """The one device is the CPU."""

    type = "cpu"

    def __init__(self, name: str = "cpu") -> None:
        if name != "cpu":
            raise RuntimeError(f"There is no device {name} in a browser.")

    def __str__(self) -> str:
        return self.type


class Size(tuple[int, ...]):
    """A shape."""

    def numel(self) -> int:
        return math.prod(self)


class _Storage:
    """The memory that tensors share."""

    def __init__(self, bytes_: np.ndarray) -> None:
        self.bytes = bytes_

    def nbytes(self) -> int:
        return self.bytes.nbytes

    def data_ptr(self) -> int:
        return int(self.bytes.ctypes.data)


class _Values(NamedTuple):
    """What `sort`, `max` and `min` along a dimension return."""

    values: Tensor
    indices: Tensor


# --------------------------------------------------------------------------------------------------------------- tensors


class Tensor:
    """An array of NumPy with torch's methods. Views share memory as in torch."""

    __array_ufunc__ = None
    """NumPy's scalars and arrays leave operators to this class."""
    device, requires_grad, is_cuda = device(), False, False

    def __init__(self, array: Any) -> None:
        self.array: np.ndarray = np.asarray(array)

    # ---- geometry

    @property
    def dtype(self) -> dtype:
        return _DTYPES[self.array.dtype]

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def T(self) -> Tensor:
        return Tensor(self.array.T)

    mT = property(lambda self: self.transpose(-1, -2))

    def dim(self) -> int:
        return self.array.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.array.itemsize

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(n // self.array.itemsize for n in self.array.strides)
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def untyped_storage(self) -> _Storage:
        root: Any = self.array
        while root.base is not None:
            root = root.base
        return _Storage(root.reshape(-1, order="A").view(np.uint8))

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def storage_offset(self) -> int:
        return (self.data_ptr() - self.untyped_storage().data_ptr()) // self.array.itemsize if self.array.size else 0

    def as_strided(self, shape: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Tensor:
        size, begin = self.array.itemsize, self.storage_offset() if offset is None else offset
        memory, steps = self.untyped_storage().bytes, [n * size for n in stride]
        return Tensor(np.ndarray(tuple(shape), self.array.dtype, memory, begin * size, steps))

    # ---- conversions

    def to(self, wanted: Any, copy: bool = False) -> Tensor:
        if not isinstance(wanted, dtype) or (wanted == self.dtype and not copy):
            return self
        with np.errstate(all="ignore"):
            return Tensor(self.array.astype(wanted.numpy))

    def double(self) -> Tensor:
        return self.to(float64)

    def float(self) -> Tensor:
        return self.to(float32)

    def long(self) -> Tensor:
        return self.to(int64)

    def int(self) -> Tensor:
        return self.to(int32)

    def view(self, *shape: Any) -> Tensor:
        """The memory in another shape, or as elements of another type."""
        if isinstance(shape[0], dtype):
            return Tensor(self.array.view(shape[0].numpy))
        return Tensor(self.array.reshape(_shape(shape), copy=False))

    def reshape(self, *shape: Any) -> Tensor:
        return Tensor(self.array.reshape(_shape(shape)))

    def flatten(self) -> Tensor:
        return self.reshape(-1)

    def contiguous(self) -> Tensor:
        return self if self.is_contiguous() else Tensor(self.array.copy("C"))

    def clone(self) -> Tensor:
        return Tensor(self.array.copy("K"))

    def numpy(self) -> np.ndarray:
        if self.array.dtype.num >= 256:  # a type that NumPy does not have itself
            raise TypeError(f"NumPy has no {self.dtype}")
        return self.array

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def item(self) -> Any:
        return self.array.item()

    def tolist(self) -> Any:
        return self.array.tolist()

    def __bool__(self) -> bool:
        return bool(self.array)

    def __float__(self) -> Any:
        return float(self.array)

    def __int__(self) -> Any:
        return int(self.array)

    def __index__(self) -> Any:
        return int(self.array)

    def __len__(self) -> Any:
        return len(self.array)

    def __repr__(self) -> str:
        return f"tensor({np.array2string(self.array, separator=', ', threshold=40)}, dtype={self.dtype})"

    __hash__ = object.__hash__

    # ---- parts

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.array[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        with np.errstate(all="ignore"):
            self.array[_index(index)] = _array(value)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self.array)))

    def unbind(self, dim: Any = 0) -> tuple[Tensor, ...]:
        return tuple(Tensor(part) for part in np.moveaxis(self.array, dim, 0))

    def transpose(self, a: Any, b: Any) -> Tensor:
        return Tensor(np.swapaxes(self.array, a, b))

    def expand(self, *shape: Any) -> Tensor:
        wanted = _shape(shape)
        own = (1,) * (len(wanted) - self.ndim) + self.array.shape
        return Tensor(np.broadcast_to(self.array, [o if n == -1 else n for n, o in zip(wanted, own, strict=True)]))

    def unsqueeze(self, dim: Any) -> Tensor:
        return Tensor(np.expand_dims(self.array, dim))

    def squeeze(self, dim: Any = None) -> Tensor:
        return Tensor(np.squeeze(self.array, dim))

    def repeat(self, *times: Any) -> Tensor:
        return Tensor(np.tile(self.array, _shape(times)))

    def repeat_interleave(self, repeats: Any, dim: Any = None) -> Tensor:
        counts = np.asarray(_array(repeats)).astype(np.intp)  # 32 bits in a browser
        return Tensor(np.repeat(self.array, counts, dim))

    def diagonal(self) -> Tensor:
        return Tensor(self.array.diagonal())

    def nonzero(self) -> Tensor:
        return Tensor(np.argwhere(self.array).astype(np.int64))

    def tril(self, diagonal: Any = 0) -> Tensor:
        return Tensor(np.tril(self.array, diagonal))

    # ---- changes in place

    def fill_(self, value: Any) -> Tensor:
        self.array[...] = value
        return self

    def copy_(self, other: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            self.array[...] = other.array
        return self

    def scatter_(self, dim: Any, index: Tensor, source: Tensor) -> Tensor:
        np.put_along_axis(self.array, index.array, source.array, dim)
        return self

    # ---- element by element

    def where(self, condition: Tensor, other: Any) -> Tensor:
        return where(condition, self, other)

    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        return where(mask, _like(value, self), self)

    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        low, high = (None if side is None else _like(side, self).array for side in (min, max))
        return Tensor(np.clip(self.array, low, high))

    def nan_to_num(self, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
        limits = finfo(self.dtype)
        high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        return Tensor(np.nan_to_num(self.array, nan=nan, posinf=high, neginf=low))

    def cumsum(self, dim: Any) -> Tensor:
        return Tensor(np.cumsum(self.array, dim, dtype=np.int64 if self.array.dtype.kind in "iub" else None))

    # ---- reductions

    def sum(self, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        of = dtype.numpy if dtype else np.int64 if self.array.dtype.kind in "iub" else None
        return _reduced(np.sum, self, dim, keepdim, dtype=of)

    def mean(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return _reduced(np.mean, self, dim, keepdim)

    def amax(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return _reduced(np.max, self, dim, keepdim)

    def amin(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return _reduced(np.min, self, dim, keepdim)

    def max(self, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return self.amax()
        return _Values(self.amax(dim, keepdim), self.argmax(dim, keepdim))

    def min(self, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return self.amin()
        return _Values(self.amin(dim, keepdim), self.argmin(dim, keepdim))

    def argmax(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return Tensor(np.argmax(self.array, dim, keepdims=keepdim).astype(np.int64))

    def argmin(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return Tensor(np.argmin(self.array, dim, keepdims=keepdim).astype(np.int64))

    def all(self, dim: Any = None) -> Tensor:
        return _reduced(np.all, self, dim)

    def any(self, dim: Any = None) -> Tensor:
        return _reduced(np.any, self, dim)

    def softmax(self, dim: Any) -> Tensor:
        with np.errstate(all="ignore"):
            weights = np.exp(self.array - self.array.max(dim, keepdims=True))
            return Tensor(weights / weights.sum(dim, keepdims=True))

    def sort(self, dim: Any = -1, descending: bool = False, stable: bool = False) -> _Values:
        order = np.argsort(-self.array if descending else self.array, dim, kind="stable")
        return _Values(Tensor(np.take_along_axis(self.array, order, dim)), Tensor(order.astype(np.int64)))


def _shape(given: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape in the arguments of a function: one by one, or as a sequence."""
    return tuple(given[0]) if len(given) == 1 and not isinstance(given[0], int | Tensor) else tuple(map(int, given))


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def _index(index: Any) -> Any:
    return tuple(map(_array, index)) if isinstance(index, tuple) else _array(index)


def _like(value: Any, tensor: Tensor) -> Tensor:
    """A number as a tensor beside another: it makes an integer a float32, and otherwise does not change the type."""
    if isinstance(value, Tensor):
        return value
    floating = isinstance(value, float) and not tensor.is_floating_point()
    boolean = tensor.dtype == bool_ and not isinstance(value, bool)
    of = float32 if floating else int64 if boolean else tensor.dtype
    with np.errstate(all="ignore"):
        return Tensor(np.asarray(value).astype(of.numpy))


def _reduced(compute: Callable[..., Any], x: Tensor, dim: Any, keepdim: bool = False, **more: Any) -> Tensor:
    axis = tuple(dim) if isinstance(dim, list) else dim
    with np.errstate(all="ignore"):
        return Tensor(compute(x.array, axis=axis, keepdims=keepdim, **more))


def _elementwise(compute: Callable[..., Any], *operands: Any) -> Tensor:
    """NumPy's function of tensors and numbers, with torch's types: numbers and tensors without dimensions are weak."""
    strongest = max((x for x in operands if isinstance(x, Tensor)), key=_strength)
    arrays = []
    for x in operands:
        one = _like(x, strongest)
        weak = isinstance(x, Tensor) and x.ndim == 0 and strongest.ndim > 0 and _kind(x) <= _kind(strongest)
        arrays.append(one.to(strongest.dtype).array if weak else one.array)
    floating = [a.dtype for a in arrays if a.dtype.kind not in "iub"]
    if floating or compute in _FLOATING:  # NumPy would make float64 of an integer
        beside = max(floating, key=lambda of: of.itemsize, default=np.dtype(np.float32))
        arrays = [a.astype(beside) if a.dtype.kind in "iub" else a for a in arrays]
    with np.errstate(all="ignore"):
        return Tensor(compute(*arrays))


def _kind(x: Tensor) -> int:
    return 2 if x.is_floating_point() else 0 if x.dtype == bool_ else 1


def _strength(x: Tensor) -> tuple[int, bool, int]:
    return _kind(x), x.ndim > 0, x.array.itemsize


_FLOATING = (np.true_divide, np.exp, np.log, np.sqrt, np.log2, np.exp2)
"""These make floating point numbers of integers."""


def _unary(compute: Callable[..., Any]) -> Callable[..., Tensor]:
    return lambda x: _elementwise(compute, x)


def _binary(compute: Callable[..., Any]) -> Callable[..., Tensor]:
    return lambda a, b: _elementwise(compute, a, b)


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return np.reciprocal(np.sqrt(x))


_UNARY = {
    **{
        name: getattr(np, name) for name in ("abs", "exp", "exp2", "log", "log2", "log1p", "sqrt", "sin", "cos", "tanh")
    },
    **{
        name: getattr(np, name)
        for name in ("round", "floor", "ceil", "isnan", "isinf", "isfinite", "sign", "square", "isposinf")
    },
    "rsqrt": _rsqrt,
    "neg": np.negative,
}
_BINARY = {
    **{name: getattr(np, name) for name in ("maximum", "minimum", "nextafter", "copysign", "remainder")},
}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "matmul": np.matmul,
}
_COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
_COMPARISONS["ne"] = np.not_equal


def _in_place(compute: Callable[..., Any]) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, other: x.copy_(_elementwise(compute, x, other))


for _name, _compute in (_UNARY | _BINARY).items():
    setattr(Tensor, _name, _unary(_compute) if _name in _UNARY else _binary(_compute))
for _name, _compute in _OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _binary(_compute))
    setattr(Tensor, f"__r{_name}__", lambda self, other, compute=_compute: _elementwise(compute, other, self))
    setattr(Tensor, f"__i{_name}__", _in_place(_compute))
for _name, _compute in _COMPARISONS.items():
    setattr(Tensor, f"__{_name}__", _binary(_compute))
for _name, _compute in {"neg": np.negative, "abs": np.abs, "invert": np.invert}.items():
    setattr(Tensor, f"__{_name}__", _unary(_compute))


def where(condition: Tensor, a: Any, b: Any) -> Tensor:
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = _like(a, zeros(()))
    return _elementwise_where(condition, a, b)


def _elementwise_where(condition: Tensor, a: Any, b: Any) -> Tensor:
    return _elementwise(lambda x, y: np.where(condition.array, x, y), a, b)


def equal(a: Tensor, b: Tensor) -> bool:
    return bool(a.array.shape == b.array.shape and np.array_equal(a.array, b.array))


# -------------------------------------------------------------------------------------------------------------- creation


def tensor(values: Any, dtype: Any = None) -> Tensor:
    made = np.array(_array(values) if isinstance(values, Tensor) else values)
    usual = np.float32 if made.dtype == np.float64 and not isinstance(values, np.ndarray) else made.dtype
    usual = np.dtype(np.int64) if made.dtype.kind in "iu" and not isinstance(values, np.ndarray) else usual
    return Tensor(made.astype(dtype.numpy if dtype else usual))


def as_tensor(values: Any, dtype: Any = None) -> Tensor:
    if isinstance(values, Tensor):
        return values.to(dtype) if dtype else values
    return Tensor(values) if isinstance(values, np.ndarray) and dtype is None else tensor(values, dtype)


def from_numpy(array: np.ndarray) -> Tensor:
    return Tensor(array)


def full(shape: Any, value: Any, dtype: Any = None, device: Any = None) -> Tensor:
    usual = bool_ if isinstance(value, bool) else int64 if isinstance(value, int) else float32
    return Tensor(np.full(shape, value, (dtype or usual).numpy))


def zeros(*shape: Any, dtype: Any = float32, device: Any = None) -> Tensor:
    return Tensor(np.zeros(_shape(shape), dtype.numpy))


def ones(*shape: Any, dtype: Any = float32, device: Any = None) -> Tensor:
    return Tensor(np.ones(_shape(shape), dtype.numpy))


def full_like(x: Tensor, value: Any, dtype: Any = None) -> Tensor:
    return Tensor(np.full_like(x.array, value, dtype.numpy if dtype else None))


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 1, dtype)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None, device: Any = None) -> Tensor:
    start, end = (0, start) if end is None else (start, end)
    usual = int64 if all(isinstance(n, int) for n in (start, end, step)) else float32
    return Tensor(np.arange(start, end, step).astype((dtype or usual).numpy))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return Tensor(np.stack([x.array for x in tensors], dim))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return Tensor(np.concatenate([x.array for x in tensors], dim))


# ------------------------------------------------------------------------------------------------------- random numbers


class Generator:
    """torch's generator on a CPU: the Mersenne Twister, seeded with 32 bits."""

    def __init__(self) -> None:
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        self._seed, self._kept = seed, None
        self._bits = np.random.RandomState(seed % 2**32)
        return self

    def initial_seed(self) -> int:
        return self._seed

    def words(self, count: int) -> np.ndarray:
        """The next numbers of 32 bits."""
        return self._bits.randint(0, 2**32, count, dtype=np.uint32)

    def uniform(self, count: int, of: dtype) -> np.ndarray:
        """Numbers below 1: 24 random bits of one word in float32, 53 of two in float64."""
        if of == float64:
            high, low = self.words(2 * count).astype(np.uint64).reshape(count, 2).T
            return ((high << np.uint64(32) | low) & np.uint64(2**53 - 1)) * 2.0**-53
        return ((self.words(count) & np.uint32(2**24 - 1)) * np.float32(2.0**-24)).astype(np.float32)

    def normal(self, count: int, of: dtype) -> np.ndarray:
        """Box and Muller's method, as torch applies it: to blocks of 16 numbers, the last of which may overlap the one before."""
        if count < 16:
            return np.array([self._one_normal() for _ in range(count)]).astype(of.numpy)
        drawn = self.uniform(count, of)
        whole = drawn[: count // 16 * 16].reshape(-1, 2, 8)
        drawn[: count // 16 * 16] = _box_muller(1 - whole[:, 0], whole[:, 1]).reshape(-1)
        if count % 16:
            first, second = self.uniform(16, of).reshape(2, 8)
            drawn[-16:] = _box_muller((1 - first)[None], second[None]).reshape(-1)
        return drawn

    def _one_normal(self) -> float:
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        angle, chance = self.uniform(2, float64)
        radius, angle = math.sqrt(-2 * math.log1p(-chance)), 2 * math.pi * angle
        self._kept = radius * math.sin(angle)
        return radius * math.cos(angle)

    _kept: float | None = None


def _box_muller(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[blocks, 8] twice to [blocks, 2, 8]."""
    radius, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


_usual = Generator()


def manual_seed(seed: int) -> Generator:
    return _usual.manual_seed(seed)


def rand(*shape: Any, generator: Generator | None = None, dtype: Any = float32) -> Tensor:
    wanted = _shape(shape)
    return Tensor((generator or _usual).uniform(math.prod(wanted), dtype).reshape(wanted))


def randn(*shape: Any, generator: Generator | None = None, dtype: Any = float32) -> Tensor:
    wanted = _shape(shape)
    return Tensor((generator or _usual).normal(math.prod(wanted), dtype).reshape(wanted))


def randint(low: int, high: int, shape: Any, generator: Generator | None = None, dtype: Any = int64) -> Tensor:
    words = (generator or _usual).words(math.prod(shape)).astype(np.int64)
    return Tensor((low + words % (high - low)).reshape(shape).astype(dtype.numpy))


# ------------------------------------------------------------------------------------------------------------- the rest


def get_num_threads() -> int:
    return 1


def set_num_threads(count: int) -> None:
    """A page has one thread."""


class Cuda:
    """There is no GPU."""

    is_available = staticmethod(lambda: False)


_METHODS: tuple[str, ...] = (
    "sort",
    "softmax",
    "amax",
    "amin",
    "sum",
    "mean",
    "cumsum",
    "clamp",
    "nan_to_num",
    "tril",
    "max",
)
_METHODS += ("min", "as_strided", "repeat_interleave", "any", "all", "argmax", "numel", "diagonal", "transpose")
"""Methods that are functions of torch, too."""
_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    where,
    equal,
    tensor,
    as_tensor,
    from_numpy,
    full,
    zeros,
    ones,
    full_like,
    zeros_like,
    ones_like,
    arange,
)
_FUNCTIONS += (stack, cat, manual_seed, rand, randn, randint, get_num_threads, set_num_threads)


def module() -> ModuleType:
    """What `import torch` is to find."""
    torch = ModuleType("torch", __doc__)
    made: dict[str, Any] = {name: getattr(Tensor, name) for name in (*_UNARY, *_BINARY, *_METHODS)}
    made |= {function.__name__: function for function in _FUNCTIONS}
    made |= {one.name: one for one in _DTYPES.values()}
    made |= {
        "inf": math.inf,
        "nan": math.nan,
        "pi": math.pi,
        "__version__": VERSION,
        "no_grad": nullcontext,
        "cuda": Cuda,
    }
    made |= {"empty": zeros, "empty_like": zeros_like, "Tensor": Tensor, "Generator": Generator, "Size": Size}
    made |= {"dtype": dtype, "finfo": finfo, "iinfo": iinfo, "device": device}
    vars(torch).update(made)
    return torch


def use() -> None:
    """Make `import torch` find this module, whether or not torch is installed."""
    sys.modules["torch"] = module()
