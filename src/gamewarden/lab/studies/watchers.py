"""Ready-made drift detectors of river beside the EWMA chart, on the same X_t: for comparison, never instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from gamewarden.drift.ewma import Chart

NOT_THERE = "river is not installed"
_FIRST_WEEK = 4
# river's own defaults need hundreds of values and changes of the size of 1; these fit a year of weeks.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ADWIN": {"delta": 0.05, "clock": 1, "grace_period": 5, "min_window_length": 3},
    "PageHinkley": {"min_instances": 8, "delta": 0.005, "threshold": 0.1, "mode": "down"},
    "KSWIN": {"alpha": 0.005, "window_size": 16, "stat_size": 5, "seed": 1},
}


def other_watchers(values: Sequence[float | None], seed: int, happenings: Mapping[str, int]) -> pl.DataFrame:
    """In which weeks each watcher signals, on the X_t of a model that is never retrained."""
    found = {"EWMA (both sides)": _ewma(values), **_rivers(values)}
    rows = [{"watcher": name, "seed": seed, **_told(weeks, happenings)} for name, weeks in found.items()]
    numbers = {name: pl.Int64 for name in rows[0] if name not in {"watcher", "in_weeks"}}
    return pl.DataFrame(rows, schema_overrides={**numbers, "in_weeks": pl.String})


def _rivers(values: Sequence[float | None]) -> dict[str, list[int]]:
    try:
        from river import drift
    except ImportError:
        return {NOT_THERE: []}
    return {f"river {name}": _river(getattr(drift, name), settings, values) for name, settings in _SETTINGS.items()}


def _ewma(values: Sequence[float | None]) -> list[int]:
    """The weeks of the chart's signals; like river's watchers it learns anew after each what is normal."""
    chart, weeks = Chart(), []
    for week, x in enumerate(values, start=_FIRST_WEEK):
        chart, point = chart.observe(x)
        if point.signal:
            weeks.append(week)
            chart = Chart()
    return weeks


def _river(make: Callable[..., Any], settings: Mapping[str, Any], values: Sequence[float | None]) -> list[int]:
    watcher, weeks = make(**settings), []
    for week, x in enumerate(values, start=_FIRST_WEEK):
        if x is not None:
            watcher.update(x)
            if watcher.drift_detected:
                weeks.append(week)
    return weeks


def _told(weeks: Sequence[int], happenings: Mapping[str, int]) -> dict[str, object]:
    begins = sorted(happenings.items(), key=lambda one: one[1])
    ends = [*(week for _, week in begins[1:]), 1 << 30]
    found: dict[str, object] = {
        "signals": len(weeks),
        "before_anything": sum(week < begins[0][1] for week in weeks),
    }
    for (name, since), until in zip(begins, ends, strict=True):
        after = [week - since for week in weeks if since <= week < until]
        found[f"weeks until {name}"] = min(after, default=None)
    return found | {"in_weeks": ", ".join(map(str, weeks)) or None}
