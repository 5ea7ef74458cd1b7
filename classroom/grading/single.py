"""One learner's submission, graded where a platform runs the grader: Gradescope's container."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from checker.puzzle import Puzzle
from checker.submission.files import entries
from checker.submission.reader import Reader
from checker.workspace import write_atomically
from classroom.grading import handed_in
from classroom.grading.formats import gradescope
from classroom.grading.judging import Engine, judge_missing, tasks
from classroom.grading.keys import Setting
from classroom.grading.layouts import Layout, Place
from classroom.grading.policy import Policy
from classroom.grading.records import LearnerResult, Person, Result
from classroom.grading.roster import Roster
from classroom.grading.score import score
from classroom.grading.store import RunFolder


def grade_one(
    submission: Path, puzzles: Sequence[Puzzle], folder: RunFolder, engine: Engine, setting: Setting, policy: Policy
) -> tuple[LearnerResult, Result]:
    """Every file at or below `submission` is one learner's. The run is kept in `folder`."""
    layout = Layout("one", lambda name: (Place(("submission",), name, "submission"),))
    with Reader() as reader:
        roster = Roster([Person(id="submission")])
        collector = handed_in.Collector(puzzles, reader, roster, layout, None)
        for entry in entries(submission):
            collector.add(entry)
    collected, sources = collector.collection(submission.name)
    folder.keep_collected(collected, sources)
    judge_missing(folder, tasks(collected, folder, puzzles, setting), setting, engine)
    result = score(folder, puzzles, policy, setting)
    return result.learners[0], result


def write_gradescope(target: Path, learner: LearnerResult, result: Result, metadata: Mapping[str, object]) -> None:
    """``results.json``; `metadata` is the platform's ``submission_metadata.json``. Raises OSError."""
    document = gradescope(learner, result)
    document["extra_data"]["submission"] = metadata.get("id")
    write_atomically(target, json.dumps(document, indent=1) + "\n")
