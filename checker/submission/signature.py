"""A kernel's parameters beside those that its puzzle passes."""

from __future__ import annotations

import difflib


def parameter_differences(got: list[str], asked: list[str]) -> list[str]:
    """In what the parameters that a kernel has differ from those that its puzzle asks for, a sentence each."""
    missing = [name for name in asked if name not in got]
    extra = [name for name in got if name not in asked]
    messages = []
    for name in list(missing):
        same_place = got[asked.index(name)] if asked.index(name) < len(got) else None
        if same_place in extra and len(got) == len(asked):
            renamed: str | None = same_place
        else:
            renamed = next(iter(difflib.get_close_matches(name, extra, n=1, cutoff=0.75)), None)
        if renamed is not None:
            messages.append(
                f"the parameter `{name}` was renamed to `{renamed}`: the course passes arguments by name, so call it `{name}` again"
            )
            missing.remove(name)
            extra.remove(renamed)
    if missing:
        messages.append(f"the parameter{_s(missing)} {_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if extra:
        messages.append(
            f"the parameter{_s(extra)} {_listed(extra)} {'is' if len(extra) == 1 else 'are'} not part of this puzzle: take {'it' if len(extra) == 1 else 'them'} out"
        )
    if not messages and got != asked:
        messages.append(f"the parameters are in another order: it is ({', '.join(asked)})")
    return messages


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _s(names: list[str]) -> str:
    return "" if len(names) == 1 else "s"
