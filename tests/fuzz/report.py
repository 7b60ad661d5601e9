"""What a run found: inputs, outcomes and CPU time by format, faults by cause."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MOST_NAMED = 200  # cases of one cause
_HEAD = ("format", "inputs", "exit 0", "exit 1", "exit 2", "faults", "CPU s", "inputs/CPU s", "slowest s")


@dataclass
class Report:
    """Counts of all workers, and findings by cause."""

    by_worker: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    causes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def count(self, worker: int, counts: dict[str, list[float]]) -> None:
        """All that a worker, and those before it in its place, have done."""
        self.by_worker[worker] = counts

    def add(self, finding: dict[str, Any]) -> int:
        """Write a finding down; how many of its cause there are now."""
        key = f"{finding['kind']}: {finding['cause']}"
        cause = self.causes.setdefault(key, {"count": 0, "formats": {}, "ids": [], "example": finding})
        cause["count"] += 1
        form = finding["id"].partition(":")[0]
        cause["formats"][form] = cause["formats"].get(form, 0) + 1
        if len(cause["ids"]) < _MOST_NAMED:
            cause["ids"].append(finding["id"])
        return int(cause["count"])

    def examples(self, most: int) -> Iterator[str]:
        """Ids of some cases of each cause."""
        for cause in self.causes.values():
            yield from cause["ids"][:most]

    @property
    def counts(self) -> dict[str, list[float]]:
        """Counts of all workers together."""
        total: dict[str, list[float]] = {}
        for counts in self.by_worker.values():
            for name, found in counts.items():
                so_far = total.get(name, [0.0] * len(found))
                total[name] = [a + b for a, b in zip(so_far[:-1], found[:-1], strict=True)] + [
                    max(so_far[-1], found[-1])
                ]
        return {name: found for name, found in total.items() if sum(found[:4])}

    @property
    def inputs(self) -> int:
        """How many cases were run."""
        return int(sum(sum(found[:4]) for found in self.counts.values()))

    def rows(self) -> list[tuple[object, ...]]:
        """One row a format, then all together."""
        total = [sum(column) for column in zip(*self.counts.values(), strict=True)] or [0.0] * 6
        slowest = max((found[5] for found in self.counts.values()), default=0.0)
        return [_row(name, found) for name, found in self.counts.items()] + [_row("all", [*total[:5], slowest])]

    def lines(self) -> list[str]:
        """The report for a person."""
        out = [f"{_HEAD[0]:<14}" + "".join(f"{name:>14}" for name in _HEAD[1:])]
        out += [f"{row[0]:<14}" + "".join(f"{cell:>14,}" for cell in row[1:]) for row in self.rows()]
        for key, cause in sorted(self.causes.items(), key=lambda item: -item[1]["count"]):
            out += [
                "",
                f"{cause['count']:,} × {key}",
                f"    {', '.join(cause['formats'])}: {' '.join(cause['ids'][:4])}",
            ]
            out += [f"    {' '.join(cause['example']['words'])!a}", f"    {cause['example']['said'][-200:]!a}"]
        return out

    def save(self, place: Path) -> None:
        """The report for a program, and for a person."""
        place.mkdir(parents=True, exist_ok=True)
        rows = [dict(zip(_HEAD, row, strict=True)) for row in self.rows()]
        whole = {"inputs": self.inputs, "formats": rows, "findings": self.causes}
        (place / "report.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        (place / "report.txt").write_text("\n".join(self.lines()) + "\n", encoding="utf-8")


def _row(name: str, found: list[float]) -> tuple[object, ...]:
    inputs = int(sum(found[:4]))
    rate = round(inputs / found[4], 1) if found[4] else 0.0
    return (name, inputs, *(int(count) for count in found[:4]), round(found[4], 1), rate, round(found[5], 2))
