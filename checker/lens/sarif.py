"""A report as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

from typing import Any

from checker.lens.report import Report


def sarif(report: Report) -> dict[str, Any]:
    levels = [*((problem, "error") for problem in report.findings), *((note, "note") for note in report.notes.values())]
    kinds = dict.fromkeys(problem.kind for problem, _ in levels)
    results = [
        {
            "ruleId": problem.kind,
            "level": level,
            "message": {"text": " ".join(filter(None, (f"{problem.kernel}: {problem.what}.", problem.advice)))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": problem.file},
                        "region": {"startLine": problem.line or 1},
                    }
                }
            ],
        }
        for problem, level in levels
    ]
    rules = [{"id": kind, "shortDescription": {"text": kind.replace("_", " ")}} for kind in kinds]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "Tile by Tile lens", "rules": rules}}, "results": results}],
    }
