"""Each isolation layer closes its gaps, and the probe reports the gaps that stay open."""

from __future__ import annotations

import os
import struct

import pytest

from checker.sandbox import Sandbox, isolation, linux
from tests.sandbox.conftest import works


def test_with_every_layer_there_is_no_gap(sandbox: Sandbox) -> None:
    assert sandbox.tier.endswith("rlimits")
    if isolation.NAMESPACES in sandbox.tier or isolation.SECCOMP in sandbox.tier:
        assert "network" not in sandbox.gaps
    if isolation.LANDLOCK in sandbox.tier:
        assert not {"write", "solutions"} & set(sandbox.gaps)
    assert not {"memory", "secrets"} & set(sandbox.gaps)
    assert sandbox.lost == ()
    assert (isolation.OTHER_USER in isolation.available_layers()) == (os.geteuid() == 0)


LAYERS = {
    ("seccomp",): ({"network", "memory", "signal"}, {"solutions"}),
    ("landlock",): ({"network", "write", "solutions", "signal"}, set()),
    ("namespaces",): ({"network", "memory", "signal"}, {"solutions"}),
    (): ({"memory"}, {"network", "solutions", "signal"}),
}


@pytest.mark.parametrize("layers", LAYERS, ids="+".join)
def test_each_layer_closes_its_gaps_and_the_probe_reports_the_rest(layers: tuple[str, ...]) -> None:
    missing, (closed, left_open) = set(layers) - isolation.available_layers(), LAYERS[layers]
    if missing:
        pytest.skip(f"this machine has no {missing.pop()}")
    with Sandbox(layers=layers) as weaker:
        assert set(weaker.tier.split("+")) == {*layers, "rlimits"}
        assert not closed & set(weaker.gaps)
        assert left_open <= set(weaker.gaps)
        works(weaker)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")
def test_without_landlock_the_probe_reports_what_root_can_read() -> None:
    """If Python is in root's folder, the job cannot give up root, and the sandbox reports the gap and the reason."""
    with Sandbox(layers=(isolation.OTHER_USER,)) as weaker:
        lost = isolation.OTHER_USER not in weaker.tier
        assert lost == ("secrets" in weaker.gaps)
        assert [reason.split(":")[0] for reason in weaker.lost] == [isolation.OTHER_USER] * lost


@pytest.mark.skipif(not linux.filter_supported(), reason="there is no filter for this machine")
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("programs", [False, True])
def test_the_filter_decides_system_calls(gpu: bool, programs: bool) -> None:
    """A small interpreter of BPF runs the filter: every jump stays inside, and every path ends in a return."""
    steps = list(struct.iter_unpack("<HBBI", linux.filter_program(programs=programs, gpu=gpu, pid=7)))
    column = 0 if linux.MACHINE == "x86_64" else 1
    calls = {"read": (0, 63)} | linux._NEVER | linux._PROGRAMS | linux._BY_ARGUMENT

    def verdict(name: str, *arguments: int) -> int:
        arch = linux._AUDIT[linux.MACHINE]
        data = struct.pack("<IIQ6Q", calls[name][column], arch, 0, *arguments, *[0] * (6 - len(arguments)))
        at, value = 0, 0
        while True:
            op, yes, no, k = steps[at]
            at += 1
            if op == 0x20:
                (value,) = struct.unpack_from("<I", data, k)
            elif op == 0x06:
                return k
            else:
                at += yes if {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[op] else no

    allow, refuse = 0x7FFF0000, 0x00050001
    assert verdict("read") == allow
    assert verdict("ptrace") == verdict("io_uring_setup") == verdict("unshare") == refuse
    assert verdict("socket", 2) == verdict("socket", 10) == refuse
    assert verdict("socket", 1) == (allow if gpu else refuse)
    assert verdict("clone", 0x3D0F00) == allow, "a thread"
    assert verdict("clone", 17) == verdict("execve") == (allow if programs else refuse)
    assert verdict("clone", 0x10000011) == refuse, "a new user namespace"
    assert verdict("kill", 7) == verdict("tgkill", 7) == allow
    assert verdict("kill", 8) == verdict("kill", 0xFFFFFFFF) == refuse
