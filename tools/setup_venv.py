"""Makes `.venv` and installs the locked versions into it; does nothing, and needs no network, when that is done already.

Run by `make lab` and `make test`; where there is no make, run it yourself: ``python tools/setup_venv.py``. It must start on any Python 3, however old, so that it can say what to do: keep the
syntax plain. The environment variable TORCH chooses torch's build on the first installation: ``cpu``, ``cuda``, or ``auto``
(the default), which takes the small CPU build where there is no NVIDIA driver and its package index can be reached.
"""

import glob
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "tile-by-tile.installed")
OLDEST = (3, 11)
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"

TOO_OLD = """This course needs Python 3.11 or newer; the newest found here is {found}.

  Debian 12, Ubuntu 24.04 or newer:   sudo apt install python3 python3-venv
  Fedora:                             sudo dnf install python3.12
  macOS:                              brew install python@3.12
  Windows:                            winget install Python.Python.3.12
  any system, without root:           conda env create -f environment.yml

If a newer Python lies somewhere else, name it:   make lab PYTHON=/path/to/python3.12"""

NO_VENV = """{python} cannot make virtual environments: its `venv` or `ensurepip` module is missing.

  Debian, Ubuntu:   sudo apt install python{major}.{minor}-venv    then run make again
  any system:       conda env create -f environment.yml

What Python said:
{said}"""

LINKED = """.venv is a link to {real}. Setting up would install this folder's course there, in place of the one
that others use it for, so nothing was changed.

  To have a .venv of this folder's own:   rm .venv     (this removes the link only), then run make again
  To use the linked one as it is:         .venv/bin/python tools/sync.py, .venv/bin/python -m pytest, and so on, without make"""

NO_NETWORK = """The packages could not be fetched: the package index cannot be reached.

Connect to the network (or set your proxy: export https_proxy=http://...) and run make again. What was fetched so far is
kept. The network is needed this once: after a complete installation everything works without it."""

NO_SPACE = """The disk is full: {free} GB are free where .venv is made.

torch's CUDA build takes about 8 GB. Without an NVIDIA GPU, take the CPU build, about 1 GB:   make lab TORCH=cpu"""

FAILED = """pip could not install the locked versions; what it said stands above.

Running make again resumes. If that does not help, remove the folder .venv (nothing of yours is in it) and run make again."""


GUARD = """
import os, sys
for n, word in enumerate(sys.orig_argv):
    flags, m, name = word.partition("m")
    if m and flags[:1] == "-" and not flags[1:].strip("bBdEiIOPqsSuvVx"):
        package = (name or "".join(sys.orig_argv[n + 1 : n + 2])).split(".")[0]
        own = os.getcwd() == os.path.dirname(sys.prefix)
        if package in ("checker", "classroom") and not sys.flags.safe_path and not own:
            folders = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
            kept = [path for path in folders if os.path.isabs(path) and os.path.realpath(path) != os.getcwd()]
            os.environ.update({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})
            os.execv(sys.executable, [sys.executable, "-P", *sys.orig_argv[1:]])
        break
"""
"""What Python runs as it starts: see `refuse_the_working_directory`."""


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def stop(text):
    sys.stderr.write("\n" + text + "\n")
    sys.exit(1)


def version_of(python):
    """The (major, minor) of an interpreter, or None where it does not run."""
    ask = "import sys; print('%d %d' % sys.version_info[:2])"
    try:
        answer = subprocess.check_output([python, "-c", ask], stderr=subprocess.DEVNULL).decode().split()
        return int(answer[0]), int(answer[1])
    except (OSError, ValueError, IndexError, subprocess.CalledProcessError):
        return None


def find_python():
    """This Python, or the first on the PATH that is new enough."""
    newest = (0, 0)
    for name in [sys.executable, "python3", "python3.13", "python3.12", "python3.11", "python3.14", "/usr/bin/python3"]:
        version = version_of(name) or (0, 0)
        if version >= OLDEST:
            return name, version
        newest = max(newest, version)
    return stop(TOO_OLD.format(found="Python %d.%d" % newest))


def wanted():
    """What the stamp must say: the lock, the project file and the choice of build."""
    digest = hashlib.sha256()
    for name in ("constraints.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def installed():
    if not os.path.exists(STAMP) or version_of(venv_python()) is None:
        return False
    with open(STAMP) as file:
        return file.read().strip() == wanted()


def venv_python():
    return program("python")


def program(name):
    """A program of `.venv`."""
    windows = sys.platform == "win32"
    return os.path.join(VENV, "Scripts" if windows else "bin", name + ".exe" * windows)


def make_venv():
    if version_of(venv_python()) is not None:
        return
    python, version = find_python()
    say("Making .venv with Python %d.%d." % version)
    # --clear: what is left of an unfinished .venv, or of one whose Python was removed, is of no use
    command = [python, "-m", "venv", "--clear", VENV]
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if made.returncode:
        said = made.stdout.decode(errors="replace").strip()
        if "No space left" in said:
            stop(NO_SPACE.format(free=free_gigabytes()))
        stop(NO_VENV.format(python=python, major=version[0], minor=version[1], said=said))


def free_gigabytes():
    return round(shutil.disk_usage(ROOT).free / 1e9, 1)


def has_nvidia_driver():
    return bool(glob.glob("/dev/nvidia[0-9]*") or os.path.exists("/dev/dxg") or os.path.exists("/proc/driver/nvidia"))


def reachable(host):
    try:
        socket.create_connection((host, 443), timeout=3).close()
        return True
    except OSError:
        return False


def index_options(build):
    """pip's options for the build of torch: Linux's CPU builds have an index of their own; elsewhere there is no other build."""
    if build not in ("auto", "cpu", "cuda"):
        stop("TORCH is %r; it must be auto, cpu or cuda." % build)
    if not sys.platform.startswith("linux"):
        return []
    if build == "cpu" or (build == "auto" and not has_nvidia_driver() and reachable(CPU_BUILDS.split("/")[2])):
        return ["--extra-index-url", CPU_BUILDS]
    return []


def pip(*arguments):
    """Runs pip, shows what it says, and returns its exit status and its text."""
    command = [venv_python(), "-m", "pip", "--disable-pip-version-check", *arguments]
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            for line in running.stdout:
                log.write(line)
                sys.stdout.write(line.decode(errors="replace"))
                sys.stdout.flush()
        log.seek(0)
        return running.returncode, log.read().decode(errors="replace")


def explain(text):
    """The cause of a failed installation, in words that say what to do."""
    if "No space left" in text:
        return NO_SPACE.format(free=free_gigabytes())
    signs = (
        "NewConnectionError",
        "NameResolutionError",
        "Temporary failure in name resolution",
        "Name or service not known",
        "ConnectTimeoutError",
        "Network is unreachable",
        "ProxyError",
    )
    if any(sign in text for sign in signs):
        return NO_NETWORK
    return FAILED


def install():
    lock = ["--constraint", "constraints.txt"]
    build_tools = ["install", "--quiet", *lock, "setuptools"]
    index = index_options(os.environ.get("TORCH") or "auto")
    project = ["install", "--quiet", *lock, *index, "--no-build-isolation", "--no-compile", "--editable", ".[lab,dev]"]
    say("Installing the locked versions (constraints.txt). This takes some minutes, once.")
    for arguments in [project] if install_side_by_side(index) else [build_tools, project]:
        status, text = pip(*arguments)
        if status:
            stop(explain(text))
    if os.environ.get("CI") != "true":  # there the few modules that are imported are compiled as they are
        compile_packages()


def install_side_by_side(index):
    """Whether two pips have installed the lock between them, which takes half as long as one pip that works out what it needs.

    What they leave out, and what goes wrong, is left to that one. The lock was made on Linux, and other systems need other packages.
    """
    if not sys.platform.startswith("linux"):
        return False
    with open(os.path.join(ROOT, "constraints.txt")) as file:
        text = file.read().split("\n\n")[0]  # what follows is for torch's CUDA build, which asks for it
    locked = [line for line in text.splitlines() if not line.startswith("#")]
    command = [
        venv_python(),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        *index,
        "--no-deps",
        "--no-compile",
    ]
    silent = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    sides = [subprocess.Popen([*command, *side], **silent) for side in (locked[::2], locked[1::2])]
    statuses = [side.wait() for side in sides]
    return not any(statuses)


def compile_packages():
    """Compiles on all processors, where pip uses one. Some packages hold templates that are no Python, so it may fail on files."""
    command = [venv_python(), "-m", "compileall", "-q", "-j", "0", os.path.join(VENV, "lib")]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def tell_ipython():
    """Have every notebook session of `.venv` run tools/kernel_start.py, of which a copy is kept there, as it starts."""
    folder = os.path.join(VENV, "etc", "ipython")
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(os.path.join(ROOT, "tools", "kernel_start.py"), os.path.join(folder, "kernel_start.py"))
    with open(os.path.join(folder, "ipython_kernel_config.py"), "w") as file:
        file.write("import os\n\nc = get_config()\n")
        file.write("start = os.path.join(os.path.dirname(__file__), 'kernel_start.py')\n")
        file.write("c.InteractiveShellApp.exec_files.append(start)\n")


def refuse_the_working_directory(venv=VENV):
    """Have `python -m checker` and `python -m classroom` of `.venv` start again with -P.

    The grader is often started in a folder that learners filled, from where Python would import its modules before ours.
    """
    for packages in glob.glob(os.path.join(venv, "lib", "python3*", "site-packages")):
        with open(
            os.path.join(packages, "00_tile_by_tile.pth"), "w"
        ) as file:  # the first of all, sitecustomize included
            file.write("import sys; exec(%r, {})\n" % GUARD)


def main():
    if os.path.islink(VENV):
        stop(LINKED.format(real=os.path.realpath(VENV)))
    if not sys.platform.startswith("linux"):
        say(
            "The course on this system is experimental: it has Triton's simulator and front end, but no compiler; see README.md."
        )
    if installed():
        tell_ipython()
        refuse_the_working_directory()
        return
    make_venv()
    install()
    with open(STAMP, "w") as file:
        file.write(wanted() + "\n")
    tell_ipython()
    refuse_the_working_directory()
    say("Set up: .venv holds everything, and from now on no network is needed.")
    if not sys.platform.startswith("linux"):
        say("Begin with: %s %s" % (program("jupyter-lab"), os.path.join("notebooks", "00_start_here.ipynb")))


if __name__ == "__main__":
    main()
