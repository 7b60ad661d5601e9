"""Commands for packets as they come: `watch`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.brokers import WATCHED, Asked, broker_options, watch_broker
from gamewarden.cli.registry import LateOptions
from gamewarden.cli.settings import current
from gamewarden.cli.show import hand_over, say, status_line
from gamewarden.online.brokers.locators import Locator

if TYPE_CHECKING:
    from gamewarden.contracts import Bounds, PacketStream
    from gamewarden.core.listening import Listener
    from gamewarden.features.traffic.fold import Tally
    from gamewarden.features.traffic.recipe import TrafficTest
    from gamewarden.online.watch import Score, Status, Write
    from gamewarden.online.work import OpenWork
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence


def _profile_options() -> list[click.Parameter]:
    from gamewarden import features
    from gamewarden.cli.recipes import options_of

    holder = click.Command("options")
    options_of(features.load("traffic"))(holder)
    return holder.params


@click.command(cls=LateOptions, late=_profile_options)
@click.argument("source", type=WATCHED, metavar="SOURCE|-")
@click.option(
    "--state", type=options.FILE, metavar="FILE|DIR", help="Keep every player's state here, and go on from it."
)
@click.option("--out", type=options.FILE, metavar="FILE|DIR", help="Write decisions here, not to standard output.")
@click.option("--models", type=options.FILE, metavar="DIR", help="Use the traffic model in force, not Table II.")
@click.option(
    "--scores",
    type=options.FILE,
    metavar="FILE",
    help="Append the model's SCORES here.  [default: beside --out, as NAME.scores.jsonl]",
)
@click.option("--counts", type=options.FILE, metavar="FILE", help="Keep what was counted here, as JSON.")
@click.option("--memory", type=options.Size(), metavar="SIZE", help="Take no more memory than this, such as 1GiB.")
@click.option("--events", is_flag=True, help="SOURCE has events: SCORES of --models at every tick, at last final.")
@options.metrics
@click.option("--one-sided", is_flag=True, help="The tap shows no answers: judge sources without proof.")
@broker_options
@options.prevalence
@options.packet_reading
def watch(
    *,
    source: options.Where | Locator,
    state: Path | None,
    out: Path | None,
    models: Path | None,
    scores: Path | None,
    counts: Path | None,
    memory: int | None,
    events: bool,
    metrics: "Listener | None",
    one_sided: bool,
    worker: tuple[int, int] | None,
    to: str | None,
    allow_private: bool,
    save_every: int | None,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    **given: Any,  # noqa: ANN401  the options of the traffic test
) -> None:
    """Judge every client by its packets, live.

    SOURCE is a capture or a packet log; `-` is standard input, as in `tcpdump -w - | gamewarden watch -`. Each
    decision is one JSON line, written the moment its window completes. With --state and --out a stop, a crash or a kill
    and a restart on the same file lose no decision and double none.

    With --models the probability and the false-positive rate of each window, as `score` gives them, are appended to a
    second file as SCORES, one JSON line each.

    Who is idle sleeps on disk, beside --state or in a temporary file, and goes on as before when it sends again. With
    --memory the whole watch stays below that: newcomers that fell silent make room first, others beyond are counted and
    not judged, and nobody with a completed window is ever put out.

    With --events SOURCE is a log of events, or JSON lines on standard input, and --state a directory: SCORES of
    whoever has changed come at every tick ([watch] tick), and those of a day that is over are final.

    SOURCE may be a topic of a broker too, kafka://host:9092/topic or nats://host:4222/stream: any number of workers
    with one --state DIR share its partitions, and each decision leaves once, whoever is killed. SCORES then stand
    among the decisions.
    """
    asked = Asked(state, out, counts, worker, to, allow_private, save_every)
    if isinstance(source, Locator):
        _refuse_for_broker(reading, scores, one_sided=one_sided)
        if events:
            _refuse_for_events(memory=memory, **given)
            watch_broker(source, asked, _work_on_events(models, prevalence), metrics)
            return
    elif events:
        from gamewarden.cli.live import watch_events

        asked.refuse_without_broker()
        _refuse_for_events(accounts=reading.captures.accounts, server_port=reading.captures.server_ports)
        more = {
            "scores": scores,
            "counts": counts,
            "memory": memory,
            "metrics": metrics,
            "one_sided": one_sided,
            **given,
        }
        watch_events(source, reading, models=models, prevalence=prevalence, state=state, out=out, **more)
        return
    from gamewarden import pipeline

    test = _profile(models, given, reading)
    say(*test.warnings)
    bounds = pipeline.bounds_of(current(), one_sided=one_sided, memory=memory)
    if isinstance(source, Locator):
        capped = memory is not None or bool(current().watch.memory)

        def work_of(partitions: int | None) -> "OpenWork":
            say(*_of_2008(test))  # once the broker has answered
            mine = bounds.shared(_told(partitions, source)) if capped else bounds
            return _work_on_packets(test, mine, models, prevalence)

        watch_broker(source, asked, work_of, metrics)
        return
    asked.refuse_without_broker()
    scoring = _scoring(models, scores, out, prevalence)
    live = isinstance(source, Path) and not source.is_file()
    packets = options.opened(source, reading).packets(bounds)
    from gamewarden.online.ordering import LIVE_TOLERANCE, InTimeOrder

    packets = InTimeOrder(packets, buffer=0, tolerance=LIVE_TOLERANCE) if live else InTimeOrder(packets)
    with (
        status_line() as status,
        _counted(counts, packets, status) as counted,
        _metered(metrics, state, packets, counted) as (watched, told, counting),
    ):
        say(*_of_2008(test))
        tally = _watch(
            watched,
            test,
            bounds,
            live=live,
            state=state,
            out=out,
            status=told,
            scoring=scoring,
            counting=counting,
        )
    say(*packets.notes, _summary(tally))
    if scoring is not None:
        say(f"SCORES of the windows are in {scoring.path}", prevalence.sentence)


@dataclass(frozen=True)
class _Scoring:
    """What a model says of windows, and where that goes."""

    path: Path
    score: "Score"


def _scoring(models: Path | None, scores: Path | None, out: Path | None, prevalence: "Prevalence") -> _Scoring | None:
    """Where there is a model, and a place for what it says."""
    if models is None:
        if scores is not None:
            raise click.UsageError("--scores needs --models: a profile has no probabilities")
        return None
    path = scores or (None if out is None else out.with_name(f"{out.stem}.scores.jsonl"))
    if path is None:
        return None
    from gamewarden import pipeline
    from gamewarden.verdicts.prevalence import scored

    (model,) = pipeline.load_models(models, "traffic")
    return _Scoring(path, lambda windows: scored(model, windows, prevalence))


def _work_on_events(models: Path | None, prevalence: "Prevalence") -> "Callable[[int | None], OpenWork]":
    """What a broker's workers do with a partition of events, of so many."""
    from gamewarden.cli.live import open_live_events

    if models is None:
        raise click.UsageError("--events needs --models: who shall judge them?")
    return lambda partitions: open_live_events(models, prevalence, partitions=_told(partitions, "the stream"))


def _told(partitions: int | None, source: object) -> int:
    """How many partitions there are, where that has to be known."""
    if partitions is None:
        raise click.UsageError(
            f"{source}: does not say how many partitions it has, which --memory and --events have to know; let "
            "`gamewarden publish --partitions N` make it, or describe the stream as partitions=N"
        )
    return partitions


def _refuse_for_broker(reading: "SourceOptions", scores: Path | None, *, one_sided: bool) -> None:
    """What is said of a capture is said where packets are published."""
    if scores is not None:
        raise click.UsageError("--scores: over a broker SCORES stand among the decisions; leave it out")
    captures, logs = reading.captures, reading.logs
    said = {
        "accounts": captures.accounts,
        "server-port": captures.server_ports,
        "include-empty": captures.include_empty,
        "one-sided": one_sided,
        "map": logs.mapping,
    }
    for name, value in said.items():
        if value:
            raise click.UsageError(f"--{name} is for captures and logs; give it to `gamewarden publish` instead")


def _refuse_for_events(**said: object) -> None:
    """What only packets have."""
    for name, value in said.items():
        if value:
            raise click.UsageError(f"--events takes no --{name.replace('_', '-')}: that is for packets")


def _work_on_packets(
    test: "TrafficTest", bounds: "Bounds", models: Path | None, prevalence: "Prevalence"
) -> "OpenWork":
    """What a broker's workers do with a partition of packets."""
    from gamewarden import pipeline
    from gamewarden.online.packet_work import packets_of
    from gamewarden.verdicts.prevalence import scored

    if models is None:
        return packets_of(test, bounds)
    (model,) = pipeline.load_models(models, "traffic")
    return packets_of(test, bounds, lambda windows: scored(model, windows, prevalence))


@contextmanager
def _counted(
    path: Path | None,
    packets: "PacketStream",
    status: "Callable[[Status], object]",
) -> "Iterator[Callable[[Status], object]]":
    """The status for people, and the counts for machines where they are wanted."""
    if path is None:
        yield status
        return
    from gamewarden.online.counts import Counts

    counts = Counts(path, packets)
    latest: list[Tally] = []

    def told(said: "Status") -> None:
        latest[:] = [said.tally]
        counts.take(said.tally)
        status(said)

    yield told
    for tally in latest:
        counts.write(tally)


@contextmanager
def _metered(
    listener: "Listener | None", state: Path | None, packets: "PacketStream", status: "Callable[[Status], object]"
) -> "Iterator[tuple[PacketStream, Callable[[Status], object], dict[str, Any]]]":
    """Packets, status and who counts along; all is as it was where there is no page for that."""
    if listener is None:
        yield packets, status, {}
        return
    from gamewarden.core.metrics_page import metrics_page
    from gamewarden.online.metrics import MeteredPackets, WatchMeters

    meters = WatchMeters(state)
    watched = MeteredPackets(packets, meters)

    def both(said: "Status") -> None:
        watched.told(said)
        status(said)

    with metrics_page(meters.meters, listener) as address:
        say(f"metrics are at {address}")
        yield watched, both, {"count": watched.count}


def _profile(models: Path | None, given: dict[str, Any], reading: "SourceOptions") -> "TrafficTest":
    from gamewarden import pipeline
    from gamewarden.features.traffic.recipe import TrafficTest

    if models is None:
        recipe: Any = pipeline.feature_recipe(TrafficTest.name, given, current(), reading.logs.time_zone)
        found: TrafficTest = recipe
        return found
    if said := [name for name, value in given.items() if value is not None]:
        raise click.UsageError(f"--models brings its own profile; leave out --{said[0].replace('_', '-')}")
    return pipeline.traffic_profile(models)


def _of_2008(test: "TrafficTest") -> tuple[str, ...]:
    """What to know of decisions by thresholds that nobody has fitted to this game."""
    from gamewarden.features.traffic.recipe import PUBLISHED

    if test.profile != PUBLISHED:
        return ()
    caveat = (
        "these decisions follow thresholds published for one game of 2008 and say little about another game: packets "
        "at random intervals count as a bot's; fit thresholds of your own with `gamewarden fit traffic`"
    )
    return (caveat,)


def _watch(
    packets: "PacketStream",
    test: "TrafficTest",
    bounds: "Bounds",
    *,
    live: bool,
    state: Path | None,
    out: Path | None,
    status: "Callable[[Status], object]",
    scoring: _Scoring | None,
    counting: dict[str, Any],
) -> "Tally":
    from gamewarden.online.stopping import Stop
    from gamewarden.online.watch import watch as watch_packets
    from gamewarden.online.watch import watch_to_file

    with Stop().on_interrupt() as stop:
        if state is not None and out is not None and not live:
            second = counting if scoring is None else {"scores": scoring.path, "score": scoring.score, **counting}
            return watch_to_file(packets, test, out, state=state, status=status, stop=stop, bounds=bounds, **second)
        with _written(out, anew=state is None) as write, _second(scoring, anew=state is None) as beside:
            return watch_packets(
                packets,
                test,
                write,
                state=state,
                replayed=not live,
                status=status,
                stop=stop,
                bounds=bounds,
                **beside,
                **counting,
            )


@contextmanager
def _second(scoring: _Scoring | None, *, anew: bool) -> "Iterator[dict[str, Any]]":
    """What a watch without a journal needs to append scores."""
    if scoring is None:
        yield {}
        return
    from gamewarden.online.journal import appending

    with appending(scoring.path, anew=anew) as write:
        yield {"score": scoring.score, "write_scores": write}


@contextmanager
def _written(out: Path | None, *, anew: bool) -> "Iterator[Write]":
    """Where decisions go, each batch of them at once."""
    if out is None:
        yield hand_over
        return
    from gamewarden.online.journal import appending

    with appending(out, anew=anew) as write:
        yield write


def _summary(tally: "Tally") -> str:
    share = f", {tally.bots / tally.decisions:.1%} of them bot" if tally.decisions else ""
    said = {
        "asleep": tally.asleep,
        "silent ones forgotten": tally.forgotten,
        "silent newcomers dropped to make room": tally.dropped,
    }
    others = "".join(f", {count:,} {words}" for words, count in said.items() if count)
    refused = f", {tally.refused:,} packets of players beyond the most ([watch] players)" if tally.refused else ""
    return (
        f"{tally.players:,} players{others}, {tally.counted:,} client packets, "
        f"{tally.decisions:,} decisions{share}{refused}"
    )
