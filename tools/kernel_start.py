"""Run by every notebook session of `.venv` as it starts: a cell that needs the first cell says so, instead of a bare NameError.

`tools/setup_venv.py` names this file in `.venv`'s settings of IPython. It imports nothing of the course, so a session starts as
fast as before, and it leaves no name behind.
"""


def _name_the_first_cell() -> None:
    verbs = ("bench", "check", "doctor", "film", "hint", "predicted", "progress", "reset", "xray")
    shell = get_ipython()  # type: ignore[name-defined]  # noqa: F821 (IPython runs this file)

    def after(result: object) -> None:
        error = getattr(result, "error_in_exec", None)
        name = getattr(error, "name", None)
        if isinstance(error, NameError) and name in verbs and name not in shell.user_ns:
            print(f"This session does not know `{name}` yet. Run the first cell of this notebook, then this one again.")
            print("(After a restart of the session, the cells that define your kernels have to be run again too.)")

    shell.events.register("post_run_cell", after)


_name_the_first_cell()
del _name_the_first_cell
