"""The evaluation as one HTML page for people: findings first, then every split side by side, then what it rests on."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from gamewarden.evaluation.breakdowns import detectors_in
from gamewarden.evaluation.plans import FAMILY, SAYS
from gamewarden.evaluation.side_by_side import Part, SideBySide
from gamewarden.outside import escape
from gamewarden.presentation import report_plots
from gamewarden.presentation.headlines import DOES_NOT_SHOW, best_detector, headlines, is_synthetic
from gamewarden.presentation.report import table_html

# The page fetches nothing: no script, no font, no picture from anywhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2b3a; --soft: #5c6b7a; --grid: #dde2e8; --page: #ffffff; --card: #f4f6f9;
  --one: #1f6aa5; --two: #d1602f; --three: #3a7d44; --alert: #b3261e; --alert-card: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #98a5b3; --grid: #36414d; --page: #12181f;
  --card: #1b232c; --one: #6db3ea; --two: #f0956a; --three: #7cc488; --alert: #ff8a80; --alert-card: #3a1d1c; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: var(--page);
  max-width: 62rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.2rem 0; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 0.4rem; padding-top: 0.6rem; border-top: 1px solid var(--grid); }
h3 { font-size: 1rem; margin: 1.6rem 0 0.3rem; }
p, li { max-width: 48rem; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.findings { background: var(--card); border-radius: 10px; padding: 0.8rem 1.4rem; margin: 1.2rem 0; }
.findings p { max-width: none; margin: 0.6rem 0; }
.findings p:first-child { font-size: 1.15rem; font-weight: 600; }
.warning { background: var(--alert-card); border-left: 4px solid var(--alert); padding: 0.5rem 1rem; margin: 0.5rem 0;
  border-radius: 0 8px 8px 0; max-width: none; }
.badge { display: inline-block; font-size: 0.8rem; padding: 0.1rem 0.6rem; border-radius: 1rem;
  border: 1px solid var(--two); color: var(--two); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.8rem 0 1.2rem; font-size: 0.88rem; width: 100%; }
th, td { padding: 0.32rem 0.6rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child { white-space: nowrap; }
tr.split td:first-child { white-space: normal; }
tr.baseline td { color: var(--soft); }
tr.best td { font-weight: 600; }
tr.split td { border-top: 2px solid var(--grid); padding-top: 0.7rem; background: var(--card); font-weight: 600; }
tr.split.flatters td { color: var(--alert); }
figure { margin: 1rem 0; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; }
.pair figure { flex: 1 1 22rem; }
svg { max-width: 100%; height: auto; }
svg text { font-family: system-ui, "Segoe UI", Roboto, sans-serif !important; }
details { margin: 1rem 0; } summary { cursor: pointer; }
@media print { body { max-width: none; } details { display: none; } }
"""
_HEAD = (
    *("detector", "bots", "people", "caught at 1 %", "95 %", "at 0.1 %", "precision", "AUC", "95 %"),
    *("ever caught", "hours"),
)


def evaluation_page(result: SideBySide, source: str, labels: str) -> str:
    """The whole page; everything that comes from data is escaped."""
    best = best_detector(result)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>How good are the detectors on {escape(source)}?</title><style>{_STYLE}</style></head><body>",
        *_top(result, source, labels),
        *_side_by_side(result, best),
        *_pictures(result, best),
        *_provenance(result),
        *_missed(result),
        "<h2>What this does not show</h2><ul>",
        *(f"<li>{escape(line)}</li>" for line in DOES_NOT_SHOW),
        "</ul>",
        "<details><summary>How it was done, and every remark</summary><ul>",
        *(f"<li class='soft'>{escape(line)}</li>" for line in result.notes),
        "</ul></details></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _top(result: SideBySide, source: str, labels: str) -> Iterator[str]:
    yield "<p class='soft'>gamewarden · evaluation</p>"
    yield f"<h1>How good are the detectors on {escape(source)}?</h1>"
    yield f"<p class='soft'>Labels: {escape(labels)}. Detectors: {escape(', '.join(detectors_in(result.scores)))}.</p>"
    if is_synthetic(result):
        yield "<p><span class='badge'>synthetic</span> Labels come from a simulation: all figures are synthetic.</p>"
    yield "<div class='findings'>"
    yield from (f"<p>{escape(line)}</p>" for line in headlines(result))
    yield "</div>"
    if result.warnings:
        yield "<h3>Read this first</h3>"
        yield from (f"<p class='warning'>{escape(line)}</p>" for line in result.warnings)


def _side_by_side(result: SideBySide, best: str) -> Iterator[str]:
    prevalence = result.summary["prevalence"][0]
    yield "<h2>Every split side by side</h2>"
    yield (
        "<p>The same detectors, asked who is a bot among those held out. The further down, the less they could know "
        "beforehand. One row an account: the mean of its periods.</p>"
    )
    if len(result.parts) > 1:
        caption = f"{best} under each split; lines are 95 % intervals."
        yield _figure(report_plots.splits_compared(result.summary, best), caption)
    yield "<div class='scroll'><table><thead><tr>"
    first, *numbers = _HEAD
    yield f"<th>{first}</th>" + "".join(f"<th class='number'>{name}</th>" for name in numbers) + "</tr></thead><tbody>"
    for part in result.parts:
        yield from _split_rows(result, part, best)
    yield "</tbody></table></div>"
    yield (
        "<p class='soft'>Caught at 1 %: bots above the threshold that 1 of 100 people passes, or above all people "
        f"where there are fewer. Precision: of those flagged there, if {prevalence:.1%} of all players are bots. Ever "
        "caught: in any period, with 1 of 100 people ever flagged; hours: the median from first play in the test. A "
        "dash: too few people to say. Grey: baselines that know nothing, or only count log entries.</p>"
    )


def _split_rows(result: SideBySide, part: Part, best: str) -> Iterator[str]:
    rows = result.summary.filter(split=part.name, unit="actor")
    tied = rows["tied"][0]
    known = "ties unknown" if tied is None else f"{tied:.0%} tied to somebody learned from"
    mark = " flatters" if part.plan.flatters else ""
    yield (
        f"<tr class='split{mark}'><td colspan='{len(_HEAD)}'>{escape(part.name)}: {escape(SAYS[part.name])} "
        f"<span class='soft'>({escape(known)})</span></td></tr>"
    )
    detectors = detectors_in(result.scores)
    for row in rows.iter_rows(named=True):
        kind = "best" if row["detector"] == best else "" if row["detector"] in detectors else "baseline"
        yield f"<tr class='{kind}'><td>{escape(row['detector'])}</td>{''.join(_cells(row))}</tr>"


def _cells(row: dict[str, Any]) -> Iterator[str]:
    hours = row["hours_to_detection"]
    shown = (
        *(f"{row[name]:,}" for name in ("bots", "humans")),
        *(_share(row["tpr_at_1pct"]), _ends(row, "tpr_at_1pct", 100, 0)),
        *(_share(row[name]) for name in ("tpr_at_0_1pct", "precision_at_1pct")),
        *(_decimals(row["auc"]), _ends(row, "auc", 1, 2)),
        *(_share(row["ever_flagged"]), "–" if hours is None else f"{hours:,.0f}"),
    )
    yield from (f"<td class='number'>{cell}</td>" for cell in shown)


def _ends(row: dict[str, Any], name: str, times: int, digits: int) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"{times * low:.{digits}f}–{times * high:.{digits}f}"


def _pictures(result: SideBySide, best: str) -> Iterator[str]:
    main = result.main
    yield f"<h2>Pictures</h2><p class='soft'>Held out by {escape(main.name)}: {escape(SAYS[main.name])}.</p>"
    yield _figure(
        report_plots.curves(main.scores),
        "Held-out periods. The further a line is from the dotted one, the better; right, small rates are stretched.",
    )
    yield "<div class='pair'>"
    yield _figure(
        report_plots.reliability(main.reliability),
        "On the dotted line a probability means what it says, at the share of bots among these labels.",
    )
    yield _figure(
        report_plots.alarms(main.promises),
        "An alarm of 1 % promises that 1 of 100 people looks at least as bot-like. Above the line more did.",
    )
    yield "</div>"
    yield from _families(result, best)
    yield from _people(main, best)


def _families(result: SideBySide, best: str) -> Iterator[str]:
    known = result.main.families
    if not known.filter(detector=best).height:
        yield "<p class='soft'>By bot family: the labels name no family.</p>"
        return
    unseen = next((part.families for part in result.parts if part.name == FAMILY), None)
    shown = None if unseen is None or result.main.name == FAMILY else unseen
    yield _figure(
        report_plots.families(known, shown, best),
        "In brackets the number of bots; thin lines are 95 % intervals. A family never seen is what comes next year.",
    )


def _people(main: Part, best: str) -> Iterator[str]:
    pictures = ((main.people, "by style of play"), (main.personas, "by kind of player, as the labels name them"))
    shown = [(frame, title) for frame, title in pictures if frame.filter(detector=best).height]
    if not shown:
        yield "<p class='soft'>By group of people: neither the labels nor the features tell groups apart.</p>"
    for frame, title in shown:
        yield _figure(
            report_plots.people(frame, best, f"People wrongly flagged, {title}"),
            f"{best}, at the threshold that 1 % of all people's periods pass (dotted). In brackets how many people; "
            "red where a group surely has more than its share.",
        )


def _provenance(result: SideBySide) -> Iterator[str]:
    yield from _titled("Who says so: where the labels come from", result.provenance)
    yield (
        "<p class='soft'>Tested: accounts whose held-out periods rest on this source. Labels that a model made are "
        "never tested on; accounts nobody reviewed are unlabelled, not human.</p>"
    )


def _missed(result: SideBySide) -> Iterator[str]:
    missed = result.missed
    if not missed.height:
        return
    shown = missed.select(
        "among",
        "detectors",
        pl.col("first").alias("first finds"),
        pl.col("second").alias("second finds"),
        "both",
        pl.col("found").alias("together"),
        pl.col("estimated").round(0).cast(pl.Int64).alias("estimate of all"),
        pl.format(
            "{} to {}",
            pl.col("estimated_low").round(0).cast(pl.Int64),
            pl.col("estimated_high").round(0).cast(pl.Int64).cast(pl.String).fill_null("?"),
        ).alias("95 %"),
        pl.col("known").alias("really there"),
    )
    yield from _titled("Bots that nobody found: capture and recapture", shown)
    yield (
        "<p>Two detectors that look independently overlap less the more bots there are; so the overlap estimates how "
        "many both miss. Among known bots the truth shows how far to trust it: detectors that see the same log "
        "find the same bots, overlap too much, and the estimate comes out too low. Among accounts without a label some "
        "people are flagged too, so that there it counts who looks like a bot.</p>"
    )


def _titled(title: str, frame: pl.DataFrame) -> Iterator[str]:
    yield "<div class='scroll'>"
    yield from table_html(title, frame)
    yield "</div>"


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
