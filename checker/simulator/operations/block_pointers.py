"""Block pointers and tensor descriptors: a base address, a shape, strides, and where a block begins.

Their lanes become ordinary addresses, so they get the same checks as any load or store. The compiler does the same for GPUs
before sm_90.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.errors import Unsupported
from checker.simulator.operations.base import Operations
from checker.simulator.trace import Guard
from checker.simulator.values import Handle, Taint, merge_taint

_ALIGNMENT = 16
"""The hardware needs the address of a descriptor's tensor and the distance between its rows in multiples of so many bytes."""


class BlockHandle(Handle):
    """A block inside a tensor: `data` is the address of the tensor's first element, the block begins at `offsets`."""

    __slots__ = ("block", "offsets", "padding", "shape", "strides")

    def __init__(
        self,
        base: Handle,
        shape: Sequence[Handle],
        strides: Sequence[Handle],
        offsets: Sequence[Handle],
        block: Sequence[int],
        padding: Any = None,
    ) -> None:
        super().__init__(base.data, base.type, base.taint, base.pointer)
        self.shape, self.strides, self.offsets = tuple(shape), tuple(strides), tuple(offsets)
        self.block = tuple(int(n) for n in block)
        self.padding = padding

    def at(self, offsets: Sequence[Handle]) -> BlockHandle:
        return BlockHandle(self, self.shape, self.strides, offsets, self.block, self.padding)

    @property
    def element(self) -> Any:
        return self.type.scalar.element_ty

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return max(1, int(self.element.primitive_bitwidth) // 8)


class BlockPointers(Operations):
    """`tl.make_block_ptr` and `tl.advance`; loads and stores check the axes that `boundary_check` names."""

    def create_make_block_ptr(
        self,
        base: Handle,
        shape: Sequence[Handle],
        strides: Sequence[Handle],
        offsets: Sequence[Handle],
        block: Sequence[int],
        order: Sequence[int],
    ) -> Handle:
        return BlockHandle(base, shape, strides, offsets, block)

    def create_advance(self, ptr: BlockHandle, by: Sequence[Handle]) -> Handle:
        if len(by) != len(ptr.block):
            raise ValueError(f"tl.advance was given {len(by)} offsets for a block of {len(ptr.block)} dimensions")
        moved = []
        for old, step in zip(ptr.offsets, by, strict=True):
            data = (np.asarray(old.data, np.int32) + np.asarray(step.data).astype(np.int32))[()]
            moved.append(Handle(data, tl.int32, merge_taint((old.taint, step.taint), ())))
        return ptr.at(moved)

    def create_tensor_pointer_load(self, ptr: BlockHandle, checked: Sequence[int], padding: Any, *_: Any) -> Handle:
        lanes, mask = self._lanes(ptr, self._indices(ptr), checked, "boundary_check")
        return self._load_block(lanes, mask if checked else None, padding, ptr)

    def create_tensor_pointer_store(self, ptr: BlockHandle, value: Handle, checked: Sequence[int], *_: Any) -> None:
        lanes, mask = self._lanes(ptr, self._indices(ptr), checked, "boundary_check")
        self.memory.store(lanes, value, mask if checked else None)

    def _load_block(self, lanes: Handle, mask: Handle | None, padding: Any, ptr: BlockHandle) -> Handle:
        element = self.element(ptr.element)
        other = None
        if padding is not None:
            fill = float("nan") if padding.name == "PAD_NAN" else 0
            other = Handle(numerics.constant(fill, element), ptr.element)
        return self.memory.load(lanes, mask, other, element)

    def _beside(self, scalar: Any, rank: int) -> np.ndarray:
        """A scalar, or one for each program, that broadcasts to tiles of `rank` dimensions."""
        return np.reshape(scalar, (-1,) * self.front + (1,) * rank)

    def _number(self, scalar: Handle, rank: int) -> np.ndarray:
        return self._beside(scalar.data, rank).astype(np.int64)

    def _indices(self, ptr: BlockHandle) -> list[np.ndarray]:
        """The indices of the block's lanes along each axis of the tensor; they broadcast to the block."""
        rank = len(ptr.block)
        return [
            self._number(offset, rank) + np.arange(n).reshape([-1 if a == axis else 1 for a in range(rank)])
            for axis, (n, offset) in enumerate(zip(ptr.block, ptr.offsets, strict=True))
        ]

    def _lanes(
        self, ptr: BlockHandle, indices: Sequence[np.ndarray], checked: Iterable[int], guard: Guard
    ) -> tuple[Handle, Handle]:
        """The address of each lane, and a mask of the lanes within the shape along the axes `checked`."""
        rank, checked = len(indices), set(checked)
        shape = np.broadcast_shapes(*(index.shape for index in indices))
        steps = [index * self._number(stride, rank) for index, stride in zip(indices, ptr.strides, strict=True)]
        inside = np.ones(shape, bool)
        for axis in checked:
            index = indices[axis]
            inside = inside & ((index >= 0) & (index < self._number(ptr.shape[axis], rank)))
        address = self._number(ptr, rank) + sum(steps) * ptr.itemsize
        pointer = ptr.pointer
        if pointer is not None:
            terms = pointer.terms
            if terms is not None:
                terms = (*terms, *(np.broadcast_to(step, shape) for step in steps))
            pointer = replace(pointer, terms=terms, guard=guard)
        reached = self._taint_of_all_lanes((ptr, *ptr.strides, *ptr.offsets), shape)
        decided = self._taint_of_all_lanes([ptr.shape[axis] for axis in checked], shape)
        return Handle(address, ptr.type, reached, pointer), Handle(inside, tl.int1, decided)

    def _taint_of_all_lanes(self, scalars: Iterable[Handle], shape: tuple[int, ...]) -> Taint | None:
        rank = len(shape) - self.front
        taints = [h.taint.moved(lambda lanes: self._beside(lanes, rank)) for h in scalars if h.taint is not None]
        return merge_taint(taints, shape)


class Descriptors(BlockPointers):
    """`tl.make_tensor_descriptor`: every axis is checked; lanes outside are read as zero and never stored."""

    def create_make_tensor_descriptor(
        self,
        base: Handle,
        shape: Sequence[Handle],
        strides: Sequence[Handle],
        block: Sequence[int],
        is_signed: bool,
        padding: Any = None,
    ) -> Handle:
        """Raises Unsupported for an alignment that the hardware cannot take."""
        nothing = [Handle(np.int32(0), tl.int32) for _ in shape]
        made = BlockHandle(base, shape, strides, nothing, block, padding)
        self.must_be_aligned(
            made.data,
            f"a tensor descriptor begins at an address that is a multiple of {_ALIGNMENT} bytes, and this one does not. "
            "Leave the offset out of the pointer, and pass it to load and store.",
        )
        for axis, stride in enumerate(strides[:-1]):
            self.must_be_aligned(
                np.asarray(stride.data, np.int64) * made.itemsize,
                f"along axis {axis} the elements lie {{}} bytes apart here, and a tensor descriptor needs a multiple of "
                f"{_ALIGNMENT} bytes. Tensors of any size need pointers and a mask.",
            )
        return made

    def must_be_aligned(self, bytes: Any, message: str) -> None:
        """Raises Unsupported, with the number of bytes in the message, if it is no multiple of `_ALIGNMENT`."""
        if self.misaligned(bytes).any():
            raise Unsupported(message.format(bytes))

    def misaligned(self, bytes: Any) -> np.ndarray:
        """Whether this is no multiple of `_ALIGNMENT`, for one program or for each."""
        return np.atleast_1d(np.asarray(bytes) % _ALIGNMENT != 0)

    def create_descriptor_load(self, descriptor: BlockHandle, offsets: Sequence[Handle], *_: Any) -> Handle:
        lanes, mask = self._block(descriptor, offsets)
        return self._load_block(lanes, mask, descriptor.padding or _Zero, descriptor)

    def create_descriptor_store(self, descriptor: BlockHandle, value: Handle, offsets: Sequence[Handle]) -> None:
        lanes, mask = self._block(descriptor, offsets)
        self.memory.store(lanes, value, mask)

    def create_descriptor_gather(
        self, descriptor: BlockHandle, rows: Handle, column: Handle, type_: Any, *_: Any
    ) -> Handle:
        """Gather these rows; the descriptor's block is one row."""
        lanes, mask = self._rows(descriptor, rows, column)
        return self._load_block(lanes, mask, descriptor.padding or _Zero, descriptor)

    def create_descriptor_scatter(self, descriptor: BlockHandle, value: Handle, rows: Handle, column: Handle) -> None:
        lanes, mask = self._rows(descriptor, rows, column)
        self.memory.store(lanes, value, mask)

    def _block(self, descriptor: BlockHandle, offsets: Sequence[Handle]) -> tuple[Handle, Handle]:
        self._column_aligned(descriptor, offsets[-1])
        block = descriptor.at(offsets)
        return self._lanes(block, self._indices(block), range(len(offsets)), "descriptor")

    def _rows(self, descriptor: BlockHandle, rows: Handle, column: Handle) -> tuple[Handle, Handle]:
        self._column_aligned(descriptor, column)
        block = descriptor.at([Handle(np.int32(0), tl.int32), column])
        _, along = self._indices(block)
        lanes, mask = self._lanes(block, [np.asarray(rows.data)[..., None], along], range(2), "descriptor")
        if lanes.pointer is not None:
            lanes.pointer = replace(lanes.pointer, terms=None)
        of_rows = None if rows.taint is None else rows.taint.moved(lambda lanes: lanes[..., None])
        lanes.taint = merge_taint((lanes.taint, of_rows), np.shape(lanes.data))
        return lanes, mask

    def _column_aligned(self, descriptor: BlockHandle, column: Handle) -> None:
        self.must_be_aligned(
            np.asarray(column.data, np.int64) * descriptor.itemsize,
            f"this block begins {{}} bytes into its row, and a tensor descriptor needs a multiple of {_ALIGNMENT} bytes.",
        )


class _Zero:
    """The padding of lanes outside if none is given."""

    name = "PAD_ZERO"
