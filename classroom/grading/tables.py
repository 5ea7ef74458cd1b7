"""Tables of people and of grades: read as spreadsheets save them, and written so that no cell is a formula."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WORDS: Mapping[str, tuple[str, ...]] = {
    "identifier": ("identificador", "identifiant"),
    "full name": ("vollständiger name", "nombre completo", "nom complet"),
    "email address": ("e-mail-adresse", "dirección de correo", "adresse de courriel"),
    "id number": ("id-nummer", "matrikelnummer", "número de id", "numéro d'identification"),
    "username": ("anmeldename", "nombre de usuario", "nom d'utilisateur"),
    "grade": ("bewertung", "calificación", "note"),
    "maximum grade": ("bestwertung", "calificación máxima", "note maximale"),
    "first name": ("vorname", "nombre", "prénom"),
    "last name": ("nachname", "apellido(s)", "apellidos", "nom", "nom de famille"),
    "group": ("gruppe", "grupo", "groupe"),
    "groups": ("gruppen", "grupos", "groupes"),
}
"""Moodle's heads in English, each in German, Spanish and French as its language packs have them (June 2026)."""
_ENGLISH = {word: english for english, words in WORDS.items() for word in words}

_STARTS = r"=+@\-＝＋＠－"
_FORMULA = re.compile(rf"(?:^|(?<=[,;]))(?=[\s\ufeff]*[{_STARTS}])")
"""Where a formula starts: also behind what another spreadsheet takes for the end of a cell."""


class TableError(ValueError):
    """A table cannot be read, or cannot be used for this; the message says what to do."""


@dataclass(frozen=True)
class Table:
    """A CSV: its heads in lower case and English, its rows as they are (the heads among them), and what separates cells."""

    heads: list[str]
    rows: list[list[str]]
    separator: str

    def column(self, *names: str) -> int | None:
        """The first column that has one of these heads."""
        return next((self.heads.index(name) for name in names if name in self.heads), None)


def read_table(path: Path) -> Table:
    """A CSV as spreadsheets save it: with commas, semicolons or tabs, in UTF-8, UTF-16 or Windows' Latin. Raises TableError."""
    data = path.read_bytes()
    csv.field_size_limit(max(len(data), 1 << 17))  # a cell may be as long as what a learner typed into the platform
    try:
        text = _decoded(data)
        first = text.lstrip("\r\n").split("\n")[0]
        separator = max(",;\t", key=first.count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path} cannot be read as a CSV: {error}. Save it as CSV in UTF-8") from None
    if rows and rows[0][0].startswith("sep="):
        del rows[0]
    if not rows:
        raise TableError(f"{path} is empty")
    heads = [unicodedata.normalize("NFC", head.strip().casefold()).replace("’", "'") for head in rows[0]]
    return Table([_ENGLISH.get(head, head) for head in heads], rows, separator)


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    if data[:200].count(0) > len(data[:200]) // 4:
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def guarded(text: str) -> str:
    """A cell that no spreadsheet reads as a formula. Numbers stay numbers."""
    flat = " ".join(text.replace("\0", "").split()) if any(c in text for c in "\r\n\t\0") else text
    return flat if re.fullmatch(r"-+|[+-]?\d+([.,]\d+)?", flat) else _FORMULA.sub("'", flat)


def as_csv(rows: Sequence[Sequence[object]], separator: str = ",") -> str:
    """Rows as CSV, each cell guarded."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(
        [[guarded(str(cell)) for cell in row] for row in rows]
    )
    return out.getvalue()
