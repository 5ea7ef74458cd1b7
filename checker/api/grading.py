"""What grading a class uses: reading submissions, judging kernels, the records of a result, cards and films."""

from __future__ import annotations

from checker import gpu
from checker.checking import Device, DeviceMissing, infra_verdict, resolve_device
from checker.course import LADDER, PUZZLES
from checker.judge.launches import seed_from
from checker.judge.result import (
    CaseCounts,
    DiagnosisRecord,
    GateRecord,
    HandedIn,
    Lateness,
    Person,
    PuzzleResult,
    Record,
    Result,
    RowStatus,
    Source,
    Submission,
    Task,
    Unread,
    environment,
    plain,
    read,
    result_of,
    schema,
    source_of,
    to_json,
    version,
    write,
)
from checker.judge.runner import Runner
from checker.judge.verdict import Status, Verdict
from checker.phrases import count
from checker.pure_triton import has_compiler
from checker.puzzle import GATES, Puzzle
from checker.sandbox import NO_ISOLATION, Sandbox
from checker.sandbox.bounded import Bounded
from checker.sandbox.limits import LANDLOCK, LAYERS, NAMESPACES, SECCOMP
from checker.submission.files import MAX_ARCHIVE, Entry, entries, skipped
from checker.submission.from_path import SubmittedKernel
from checker.submission.kernel import KernelSource, Piece
from checker.submission.reader import Inner, Reader, course_on_path
from checker.submission.rules import without_broken
from checker.verbs.arguments import puzzle_named
from checker.verbs.film import film_of_failure
from checker.verbs.grade import NO_COMPILER, NOT_ISOLATED, RETRIES, judged
from checker.verbs.submissions import missing_verdict, unreadable_verdict
from checker.verbs.tables import ProgressBar, one_line, print_table, status_text, words
from checker.view.card import card_html
from checker.view.card_content import STATUS
from checker.view.theme import asset, prose, style_element
from checker.workspace import write_atomically

__all__ = [
    "GATES",
    "LADDER",
    "LANDLOCK",
    "LAYERS",
    "MAX_ARCHIVE",
    "NAMESPACES",
    "NOT_ISOLATED",
    "NO_COMPILER",
    "NO_ISOLATION",
    "PUZZLES",
    "RETRIES",
    "SECCOMP",
    "STATUS",
    "Bounded",
    "CaseCounts",
    "Device",
    "DeviceMissing",
    "DiagnosisRecord",
    "Entry",
    "GateRecord",
    "HandedIn",
    "Inner",
    "KernelSource",
    "Lateness",
    "Person",
    "Piece",
    "ProgressBar",
    "Puzzle",
    "PuzzleResult",
    "Reader",
    "Record",
    "Result",
    "RowStatus",
    "Runner",
    "Sandbox",
    "Source",
    "Status",
    "Submission",
    "SubmittedKernel",
    "Task",
    "Unread",
    "Verdict",
    "asset",
    "card_html",
    "count",
    "course_on_path",
    "entries",
    "environment",
    "film_of_failure",
    "gpu",
    "has_compiler",
    "infra_verdict",
    "judged",
    "missing_verdict",
    "one_line",
    "plain",
    "print_table",
    "prose",
    "puzzle_named",
    "read",
    "resolve_device",
    "result_of",
    "schema",
    "seed_from",
    "skipped",
    "source_of",
    "status_text",
    "style_element",
    "to_json",
    "unreadable_verdict",
    "version",
    "without_broken",
    "words",
    "write",
    "write_atomically",
]
