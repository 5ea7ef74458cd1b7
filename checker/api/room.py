"""What a class in one room needs of `checker`, without torch: the board's protocol, the workspace, the colours, the course's files."""

from __future__ import annotations

from pathlib import Path

from checker.phrases import count
from checker.submission.marked_region import without_docstring
from checker.verbs.board_client import NotReached, post
from checker.verbs.board_wire import (
    MAX_BYTES,
    OPEN_FOR,
    PORT,
    TOKEN_HEADER,
    Event,
    Guess,
    Join,
    Joined,
    Message,
    NotAllowed,
    Report,
    ReportReply,
    Word,
    parse,
    plain_code,
)
from checker.view.theme import DARK, LIGHT, asset
from checker.workspace import Workspace, find, keep_copy, locked, write_atomically

CHECKER = Path(__file__).resolve().parents[1]
"""The folder of the package."""
