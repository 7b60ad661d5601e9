"""Figures that docs/results.md quotes, kept as they came out: docs/figures/NAME.json, written by what measured them.

A benchmark that is given `--record` ends with

    record("real_gvgai", "python benchmarks/real_gvgai.py --record", {"auc": 0.2963}, ["self-similarity AUC {auc:.2f}"])

and tests/project/test_documents.py wants the words "self-similarity AUC 0.30" in docs/results.md, and every decimal
number of that page in such words, or among the published ones (docs/figures/published.json), or among those that were
copied by hand from the output of a command that does not record yet (by_hand.json).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

PLACE = Path(__file__).parents[1] / "docs" / "figures"
_DIGITS = 6  # more would differ between machines
Figure = float | int | str | Sequence[float] | None


def record(name: str, recipe: str, figures: Mapping[str, Figure], says: Sequence[str]) -> Path:
    """Keep what was measured by this command, and the words for docs/results.md: templates over the figures' names."""
    kept = {key: _rounded(value) for key, value in figures.items()}
    page = {"recipe": recipe, "figures": kept, "says": [template.format(**figures) for template in says]}
    path = PLACE / f"{name}.json"
    path.write_text(json.dumps(page, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _rounded(value: Figure) -> Figure:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [round(one, _DIGITS) for one in value]
    return value
