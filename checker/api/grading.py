"""What grading a class uses: reading submissions, judging kernels, the records of a result, cards and films."""

from __future__ import annotations

from checker import gpu
from checker.checking import DeviceMissing, infra_verdict, resolve_device
from checker.course.launchers import JUDGED
from checker.judge.result import (
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
    source_of,
    version,
    write,
)
from checker.judge.runner import Runner
from checker.judge.verdict import Verdict
from checker.phrases import count
from checker.pure_triton import has_compiler
from checker.puzzle import Puzzle
from checker.sandbox import NO_ISOLATION, Sandbox
from checker.sandbox.bounded import Bounded
from checker.sandbox.limits import LANDLOCK, LAYERS, NAMESPACES, SECCOMP
from checker.submission.files import MAX_ARCHIVE, Entry, entries, skipped
from checker.submission.from_path import SubmittedKernel
from checker.submission.kernel import KernelSource
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
