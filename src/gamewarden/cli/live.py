"""`watch --events`: the models of events on a stream that is under way."""

import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import hand_over, say

if TYPE_CHECKING:
    import pyarrow as pa

    from gamewarden.online.live_events import LiveEvents
    from gamewarden.online.live_judges import Judges
    from gamewarden.online.stopping import Stop
    from gamewarden.online.work import OpenWork
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence

_BLOCK = 1 << 20  # bytes read of a pipe at a time
_PATIENCE = 1.0  # seconds without anything after which a pipe is idle


def open_live_events(
    models: Path, prevalence: "Prevalence", *, partitions: int | None = None, promised: frozenset[str] = frozenset()
) -> "OpenWork":
    """What opens the work of a partition: the models in force of events, at the pace of the settings.

    Raises:
        ModelError: no model judges events of an actor alone.
    """
    from gamewarden.core.durations import parse_span
    from gamewarden.online.live_events import Pace, opening

    watch = current().watch
    pace = Pace(parse_span(watch.tick), parse_span(watch.late), partitions)
    return opening(live_judges(models, prevalence, promised), pace)


def live_judges(models: Path, prevalence: "Prevalence", promised: frozenset[str] = frozenset()) -> "Judges":
    """The models in force that judge an actor by its own events of a period; the others are named once.

    Raises:
        ModelError: there is none.
    """
    from gamewarden import features, pipeline
    from gamewarden.errors import ModelError
    from gamewarden.online.live_judges import Judge, Judges, judged_live
    from gamewarden.pipeline.measuring import feature_of

    found = [one for one in pipeline.load_models(models) if features.load(one.feature.name).input == "events"]
    judges = [Judge(model, feature_of(model.feature)) for model in found]
    mine = tuple(judge for judge in judges if judged_live(judge.feature))
    if not mine:
        raise ModelError(f"{models}: no model judges an account by its own events; fit one, such as account-day")
    if left := [judge.model.card.id for judge in judges if not judged_live(judge.feature)]:
        say(f"{', '.join(left)} looks at other accounts or at several days, and is left to `gamewarden score`")
    return Judges(mine, pipeline.limits_of(current()), prevalence, promised)


def watch_events(
    source: options.Where,
    reading: "SourceOptions",
    *,
    models: Path | None,
    prevalence: "Prevalence",
    state: Path | None,
    out: Path | None,
    **refused: Any,  # noqa: ANN401  what only packets have
) -> None:
    """Judge everybody by the events of a plain source, as they come."""
    if models is None:
        raise click.UsageError("--events needs --models: who shall judge them?")
    if said := [name for name, value in refused.items() if value]:
        raise click.UsageError(f"--events takes no --{said[0].replace('_', '-')}: that is for packets")
    from gamewarden.online.stopping import Stop

    live = source == Path("-")
    stream = None if live else options.opened(source, reading).events()
    promised = frozenset(getattr(stream, "promised", ()))
    opened = open_live_events(models, prevalence, partitions=1, promised=promised)
    with TemporaryDirectory(prefix="gamewarden-watch-") as spare, Stop().on_interrupt() as stop:
        work: Any = opened(Path(spare) / "0" if state is None else state)[0]
        coming = _piped(work, reading) if stream is None else stream.batches(work.columns)
        _watch(work, stop.until(coming, live=live), stop, state=state, out=out, replayed=not live)
        work.close()
    say(*(() if stream is None else stream.notes), _summary(work), prevalence.sentence)


def _watch(
    work: "LiveEvents",
    coming: "Iterator[pa.RecordBatch | None]",
    stop: "Stop",
    *,
    state: Path | None,
    out: Path | None,
    replayed: bool,
) -> None:
    from gamewarden.online.journal import appending
    from gamewarden.online.watch_events import Journal, watch

    if state is not None:
        journal = Journal(work, state, out, replayed=replayed)
        try:
            journal.watch(coming, hand_over)
        finally:
            journal.close()
    elif out is None:
        watch(work, coming, hand_over, ended=lambda: not stop.asked)
    else:
        with appending(out, anew=True) as write:
            watch(work, coming, write, ended=lambda: not stop.asked)


def _piped(work: "LiveEvents", reading: "SourceOptions") -> "Iterator[pa.RecordBatch | None]":
    """Events of standard input, one JSON object a line, in the columns of EVENTS, as soon as they are there."""
    from gamewarden.readers.pushed import Clock, EventRows
    from gamewarden.readers.row_report import Tally

    shape, tally, row = EventRows(Clock(reading.logs.time_zone)), Tally("standard input", 1.0), 0
    for block in _blocks():
        if block is None:
            yield None
            continue
        found = shape.at_once(block, tally)
        rows = shape.looked_at(block, row, tally) if found is None else found
        row += block.count(b"\n") + 1
        yield from rows.select(list(work.columns)).combine_chunks().to_batches()
    if tally.bad:
        say(*(f"{fault.count:,} events left out: {fault.reason}" for fault in tally.report().bad))


def _blocks() -> Iterator[bytes | None]:
    """Whole lines of standard input, as many as are there; None where it is silent."""
    from gamewarden.errors import ReadError
    from gamewarden.readers.pushed import LONGEST_LINE

    held = b""
    for chunk in _chunks():
        if chunk is None:
            yield None
            continue
        head, newline, tail = (held + chunk).rpartition(b"\n") if chunk else (held, b"\n", b"")
        held = tail if newline else held + chunk
        if len(held) > LONGEST_LINE:
            raise ReadError(f"standard input: a line is longer than {LONGEST_LINE:,} bytes; send one event a line")
        if newline and head.strip():
            yield head.strip()


def _chunks() -> Iterator[bytes | None]:
    """What standard input has, None where it is silent, nothing but an empty one at its end."""
    place = sys.stdin.fileno()
    while True:
        if not select.select([place], [], [], _PATIENCE)[0]:
            yield None
            continue
        chunk = os.read(place, _BLOCK)
        yield chunk
        if not chunk:
            return


def _summary(work: "LiveEvents") -> str:
    counts = work.counts
    lost = "".join(f", {counts[name]:,} {name}" for name in ("late", "ahead") if counts[name])
    return (
        f"{counts['events']:,} events{lost}, {counts['ticks']:,} ticks, {counts['provisional']:,} provisional and "
        f"{counts['final']:,} final SCORES, {counts['open']:,} periods open"
    )
