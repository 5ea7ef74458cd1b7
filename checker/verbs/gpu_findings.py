"""What the doctor says about a machine's GPU, and about what a launch on one needs besides."""

from __future__ import annotations

from collections.abc import Iterator

from checker.verbs.machine import Facts, Finding, Gpu, pip


def gpu_findings(facts: Facts) -> Iterator[Finding]:
    if facts.system == "Darwin":
        yield Finding("GPU", "note", "No GPU that Triton could use: it has no back end for Apple's GPUs.")
    elif facts.gpus:
        yield from (_usable_gpu(gpu) for gpu in facts.gpus)
    elif facts.torch_hip is not None:
        message = (
            f"This torch is built for AMD (ROCm {facts.torch_hip}). The GPU gate and `bench` are written for and tested "
            "on NVIDIA GPUs and stay off; everything else works."
        )
        yield Finding("GPU", "warning", message)
    elif facts.driver is not None:
        yield _unusable_gpu(facts)
    else:
        message = (
            "None here, and none is needed: every kernel runs in the simulator and is compiled for real GPUs, so `check`, "
            "`film`, `xray` and `hint` work and every puzzle can be passed. What needs one: the `gpu` gate, which the verdict "
            "then calls not run, `bench`, and the speed medals."
        )
        if facts.colab:
            message += " In Colab: Runtime → Change runtime type → T4 GPU."
        yield Finding("GPU", "note", message)


def _usable_gpu(gpu: Gpu) -> Finding:
    major, minor = gpu.capability
    what = f"{gpu.name}, compute capability {major}.{minor} (sm_{major}{minor})"
    if gpu.memory:
        what += f", {gpu.memory / 2**30:.0f} GiB"
    if gpu.capability < (7, 5):
        return Finding(
            "GPU",
            "warning",
            f"{what}: older than any GPU the course is made for (T4, sm_75, and newer). Triton may refuse to compile; "
            'the GPU gate may then fail for a kernel that is right. Pass `device="cpu"` to leave it out.',
        )
    if gpu.capability < (8, 0):
        return Finding(
            "GPU",
            "warning",
            f"{what}: it has no bfloat16 in hardware. bfloat16 cases still run and count: Triton computes them in float32 "
            "and rounds, so the answers are the same and only the speed is not. It has no TF32 and no asynchronous "
            "copies either, so `tl.dot` in float32 is exact and slow, and `num_stages` changes nothing: do not "
            "draw conclusions about those from timings made here. float16 and float32 puzzles are unaffected.",
        )
    return Finding("GPU", "ok", what)


def _unusable_gpu(facts: Facts) -> Finding:
    names = ", ".join(gpu.name for gpu in facts.seen) or "an NVIDIA GPU"
    if facts.torch is None or facts.torch_error:
        return Finding(
            "GPU", "warning", f"{names} is present (driver {facts.driver}) and cannot be used before torch works."
        )
    if facts.torch_cuda is None:
        message = (
            f"{names} is present (driver {facts.driver}), but torch {facts.torch} is a CPU-only build, so it cannot be "
            "used. Everything but the GPU gate and `bench` works."
        )
        return Finding("GPU", "warning", message, pip(facts, f"--force-reinstall --no-deps {_cuda_torch(facts)}"))
    why = f" torch says: {facts.cuda_error}." if facts.cuda_error else ""
    message = (
        f"{names} is present (driver {facts.driver}), but torch {facts.torch} (built with CUDA {facts.torch_cuda}) "
        f"cannot use it, so it cannot be used here.{why} Often the driver is older than that CUDA needs, or the GPU was "
        "taken from this container. The command shows what the driver supports."
    )
    return Finding("GPU", "warning", message, ("!" if facts.colab else "") + "nvidia-smi")


def _cuda_torch(facts: Facts) -> str:
    """The same torch without its local tag: on Linux the plain release is the CUDA build."""
    assert facts.torch is not None
    return f'"torch=={facts.torch.split("+")[0]}"'


def c_compiler_findings(facts: Facts) -> Iterator[Finding]:
    if facts.system != "Linux" or not facts.gpus:
        return  # only a launch on a GPU compiles C: neither the simulator nor a compile for another GPU does
    if facts.c_compiler is None:
        message = (
            "No C compiler: before its first launch on a GPU, Triton compiles a small C launcher. The simulator and the "
            "compile gate do without."
        )
        yield Finding("C compiler", "warning", message, "sudo apt-get install -y gcc")
    elif not facts.python_headers:
        minor = ".".join(map(str, facts.python[:2]))
        message = "Python.h is missing: Triton's launcher for the GPU cannot be compiled without it."
        yield Finding("C compiler", "warning", message, f"sudo apt-get install -y python{minor}-dev")
    else:
        yield Finding("C compiler", "ok", facts.c_compiler)
