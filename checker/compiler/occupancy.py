"""How many programs one multiprocessor (SM) can hold at a time, and which resource limits it.

Limits come from NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". A warp gets registers in
units of 256, and a program gets shared memory in units that depend on the generation.
"""

from __future__ import annotations

from dataclasses import dataclass

REGISTERS = 65536  # of one SM
MOST_REGISTERS = 255  # of one thread
_UNIT = 256
_WARPS_AT_ONCE = 4  # an SM has four parts, each with a quarter of the registers


@dataclass(frozen=True)
class Multiprocessor:
    """One SM: the warps and programs it can hold, bytes of shared memory, and what each program costs on top of its own."""

    warps: int
    programs: int
    shared: int
    reserved: int = 1024
    unit: int = 128


MULTIPROCESSORS: dict[int, Multiprocessor] = {
    75: Multiprocessor(32, 16, 64 * 1024, reserved=0, unit=256),
    80: Multiprocessor(64, 32, 164 * 1024),
    86: Multiprocessor(48, 16, 100 * 1024),
    89: Multiprocessor(48, 24, 100 * 1024),
    90: Multiprocessor(64, 32, 228 * 1024),
    100: Multiprocessor(64, 32, 228 * 1024),
    120: Multiprocessor(48, 24, 100 * 1024),
}


@dataclass(frozen=True)
class Occupancy:
    """`programs` fit at a time, with `warps` of `most_warps`; `limits` names what runs out first (several on a tie)."""

    programs: int
    warps: int
    most_warps: int
    limits: tuple[str, ...]


def occupancy(capability: int, registers: int, shared_bytes: int, num_warps: int) -> Occupancy | None:
    """None for a GPU whose limits are not listed here."""
    sm = MULTIPROCESSORS.get(capability)
    if sm is None or num_warps < 1:
        return None
    per_warp = -(-max(registers, 1) * 32 // _UNIT) * _UNIT
    warps_by_registers = REGISTERS // _WARPS_AT_ONCE // per_warp * _WARPS_AT_ONCE
    bytes_of_one = -(-shared_bytes // sm.unit) * sm.unit + sm.reserved
    room = {
        "registers": warps_by_registers // num_warps,
        **({"shared memory": sm.shared // bytes_of_one} if bytes_of_one else {}),
        "warps": sm.warps // num_warps,
        "program slots": sm.programs,
    }
    programs = min(room.values())
    limits = tuple(name for name, count in room.items() if count == programs)
    return Occupancy(programs, programs * num_warps, sm.warps, limits)
