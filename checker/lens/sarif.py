"""A report as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

from typing import Any

from checker.lens.report import Report


def sarif(report: Report) -> dict[str, Any]:
    kinds = dict.fromkeys(problem.kind for problem in report.findings)
    results = [
        {
            "ruleId": problem.kind,
            "level": "error",
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
        for problem in report.findings
    ]
    rules = [{"id": kind, "shortDescription": {"text": kind.replace("_", " ")}} for kind in kinds]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "Tile by Tile lens", "rules": rules}}, "results": results}],
    }
