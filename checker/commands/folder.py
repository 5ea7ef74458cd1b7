"""Commands on the learner's folder and machine: hint, progress, reset, doctor."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from checker.commands.codes import FAILED, PASSED
from checker.commands.files import write_json


def hint(options: argparse.Namespace) -> int:
    from checker.verbs.actions import hint

    hint(options.puzzle, options.level)
    return PASSED


def progress(options: argparse.Namespace) -> int:
    from checker.verbs.actions import show_progress

    show_progress()
    return PASSED


def reset(options: argparse.Namespace) -> int:
    from checker.verbs.actions import reset

    reset(options.puzzle)
    return PASSED


def doctor(options: argparse.Namespace) -> int:
    from checker.verbs.actions import diagnosed, doctor

    if options.json is None:
        report = doctor()
    else:
        report = diagnosed()
        write_json(options.json, {"schema": "doctor/v1", "findings": [asdict(found) for found in report]})
    return FAILED if any(found.level == "problem" for found in report) else PASSED
