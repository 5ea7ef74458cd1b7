"""Block pointers and tensor descriptors: a base address, a shape, strides, and where in it a block begins.

Their lanes become addresses as those of any other load or store, so that what is told of these holds for them too. On a GPU
before sm_90 the compiler does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.errors import Refused
from checker.simulator.memory import Memory
from checker.simulator.operations.base import Operations
from checker.simulator.values import Guard, Handle, Taint, merge_taint

_ALIGNMENT = 16
"""Bytes: the unit in which the hardware counts the address of a descriptor's tensor and the distance between its rows."""


class BlockHandle(Handle):
    """The address of a block inside a tensor: `data` is that of the tensor's first element, `offsets` say where the block begins."""

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
        """The type of an element."""
        return self.type.scalar.element_ty

    def lanes(self, checked: Iterable[int], guard: Guard) -> tuple[Handle, Handle]:
        """The address of each lane, and a mask: which lanes are below the shape and not below 0 along the axes `checked`."""
        rank, checked = len(self.block), set(checked)
        steps, inside = [], np.ones(self.block, bool)
        for axis, n in enumerate(self.block):
            along = [-1 if a == axis else 1 for a in range(rank)]
            index = (int(self.offsets[axis].data) + np.arange(n, dtype=np.int64)).reshape(along)
            steps.append(np.broadcast_to(index * np.int64(self.strides[axis].data), self.block))
            if axis in checked:
                inside = inside & (index >= 0) & (index < np.int64(self.shape[axis].data))
        itemsize = max(1, self.element.primitive_bitwidth // 8)
        address = np.int64(self.data) + sum(steps, np.zeros(self.block, np.int64)) * itemsize
        pointer = self.pointer
        if pointer is not None:
            terms = None if pointer.terms is None else (*pointer.terms, *steps)
            pointer = replace(pointer, terms=terms, guard=guard)
        reached = _all_lanes((self, *self.strides, *self.offsets), self.block)
        decided = _all_lanes([self.shape[a] for a in checked], self.block)
        return Handle(address, self.type, reached, pointer), Handle(inside, tl.int1, decided)


def _all_lanes(handles: Iterable[Handle], block: tuple[int, ...]) -> Taint | None:
    return merge_taint((h.taint for h in handles), block)


class BlockPointers(Operations):
    """`tl.make_block_ptr` and `tl.advance`; loads and stores check the axes that `boundary_check` names."""

    memory: Memory

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
        lanes, mask = ptr.lanes(checked, "boundary_check")
        return self._load_block(lanes, mask if checked else None, padding, ptr)

    def create_tensor_pointer_store(self, ptr: BlockHandle, value: Handle, checked: Sequence[int], *_: Any) -> None:
        lanes, mask = ptr.lanes(checked, "boundary_check")
        self.memory.store(lanes, value, mask if checked else None)

    def _load_block(self, lanes: Handle, mask: Handle | None, padding: Any, ptr: BlockHandle) -> Handle:
        element = self.element(ptr.element)
        other = None
        if padding is not None:
            fill = float("nan") if padding.name == "PAD_NAN" else 0
            other = Handle(np.broadcast_to(numerics.constant(fill, element), ptr.block), ptr.element)
        return self.memory.load(lanes, mask, other, element)


class Descriptors(BlockPointers):
    """`tl.make_tensor_descriptor`: every axis is checked, what lies outside is read as zero and never stored."""

    def create_make_tensor_descriptor(
        self,
        base: Handle,
        shape: Sequence[Handle],
        strides: Sequence[Handle],
        block: Sequence[int],
        is_signed: bool,
        padding: Any = None,
    ) -> Handle:
        """Raises Refused where the tensor does not lie as the hardware needs it."""
        nothing = [Handle(np.int32(0), tl.int32) for _ in shape]
        made = BlockHandle(base, shape, strides, nothing, block, padding)
        itemsize = max(1, made.element.primitive_bitwidth // 8)
        if int(made.data) % _ALIGNMENT:
            raise Refused(
                f"a tensor descriptor begins at an address that is a multiple of {_ALIGNMENT} bytes, and this one does not. "
                "Leave the offset out of the pointer, and pass it to load and store."
            )
        for axis, stride in enumerate(strides[:-1]):
            apart = int(stride.data) * itemsize
            if apart % _ALIGNMENT:
                raise Refused(
                    f"along axis {axis} the elements lie {apart} bytes apart here, and a tensor descriptor needs a multiple of "
                    f"{_ALIGNMENT} bytes. Tensors of any size need pointers and a mask."
                )
        return made

    def create_descriptor_load(self, descriptor: BlockHandle, offsets: Sequence[Handle], *_: Any) -> Handle:
        lanes, mask = self._block(descriptor, offsets)
        return self._load_block(lanes, mask, descriptor.padding or _Zero, descriptor)

    def create_descriptor_store(self, descriptor: BlockHandle, value: Handle, offsets: Sequence[Handle]) -> None:
        lanes, mask = self._block(descriptor, offsets)
        self.memory.store(lanes, value, mask)

    def create_descriptor_reduce(
        self, kind: Any, descriptor: BlockHandle, value: Handle, offsets: Sequence[Handle]
    ) -> None:
        """An atomic operation on each element of the block."""
        lanes, mask = self._block(descriptor, offsets)
        floating = numerics.is_float(self.element(descriptor.element))
        name = {"ADD": "FADD" if floating else "ADD"}.get(kind.name, kind.name)
        if name == "FADD":
            self.lane_flops += int(np.count_nonzero(mask.data))
        self.memory.atomic(name, lanes, value, mask)

    def create_descriptor_gather(
        self, descriptor: BlockHandle, rows: Handle, column: Handle, type_: Any, *_: Any
    ) -> Handle:
        """The rows `rows` of a descriptor whose block is one row."""
        lanes, mask = self._rows(descriptor, rows, column)
        wide = descriptor.at(descriptor.offsets)
        wide.block = tuple(np.shape(lanes.data))
        return self._load_block(lanes, mask, descriptor.padding or _Zero, wide)

    def create_descriptor_scatter(self, descriptor: BlockHandle, value: Handle, rows: Handle, column: Handle) -> None:
        lanes, mask = self._rows(descriptor, rows, column)
        self.memory.store(lanes, value, mask)

    def _block(self, descriptor: BlockHandle, offsets: Sequence[Handle]) -> tuple[Handle, Handle]:
        self._aligned(descriptor, offsets[-1])
        return descriptor.at(offsets).lanes(range(len(offsets)), "descriptor")

    def _rows(self, descriptor: BlockHandle, rows: Handle, column: Handle) -> tuple[Handle, Handle]:
        self._aligned(descriptor, column)
        blocks = [
            descriptor.at([Handle(row, tl.int32), column]).lanes(range(2), "descriptor")
            for row in np.asarray(rows.data)
        ]
        lanes = self._stacked([lane for lane, _ in blocks])
        lanes.taint = merge_taint(
            (lanes.taint, None if rows.taint is None else rows.taint.moved(_column)), lanes.data.shape
        )
        return lanes, self._stacked([mask for _, mask in blocks])

    def _stacked(self, handles: Sequence[Handle]) -> Handle:
        first = handles[0]
        pointer = None if first.pointer is None else replace(first.pointer, terms=None)
        data = np.concatenate([h.data for h in handles])
        taint = merge_taint((h.taint for h in handles), data.shape)
        return Handle(data, first.type, taint, pointer)

    def _aligned(self, descriptor: BlockHandle, last: Handle) -> None:
        apart = int(last.data) * max(1, descriptor.element.primitive_bitwidth // 8)
        if apart % _ALIGNMENT:
            raise Refused(
                f"this block begins {apart} bytes into its row, and a tensor descriptor needs a multiple of {_ALIGNMENT} bytes."
            )


def _column(lanes: np.ndarray) -> np.ndarray:
    return lanes[:, None]


class _Zero:
    """What lanes outside hold where no padding is named."""

    name = "PAD_ZERO"
