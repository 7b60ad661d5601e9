"""Commands for what Ragnarok clients say: `packets`, and `measure session` over any number of streams."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say, tell

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions

_SOURCES = click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SOURCE…")


def decoding(function: Callable[..., None]) -> Callable[..., None]:
    """Adds what says how client messages are decoded, to a command that has `reading`."""

    @options.message_tables
    @click.option("--strict", is_flag=True, help="End a stream at the first message that cannot be read.")
    @wraps(function)
    def command(*, reading: "SourceOptions", strict: bool, **given: Any) -> None:  # noqa: ANN401  the command's own
        function(reading=replace(reading, messages=replace(reading.messages, strict=strict)), **given)

    return command


def message_reading(function: Callable[..., None]) -> Callable[..., None]:
    """Adds all that says how client messages are read; the command gets `reading`."""
    inner = decoding(function)

    @options.ports
    @wraps(inner)
    def command(*, server_ports: tuple[int, ...], **given: Any) -> None:  # noqa: ANN401  the command's own
        from gamewarden.readers.options import SourceOptions

        inner(reading=options.with_ports(SourceOptions(), server_ports), **given)

    return command


def measure_command(name: str, recipe: type) -> click.Command:
    """The command that measures a feature of client messages, over any number of sources."""
    from gamewarden.cli.recipes import options_of

    @click.command(name, help=recipe.__doc__)
    @_SOURCES
    @options_of(recipe)
    @message_reading
    @options.time_range
    @options.table
    def command(
        *,
        sources: tuple[options.Where, ...],
        reading: "SourceOptions",
        present: Presentation,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        from gamewarden import requests

        with progress(f"measuring {name}") as done:
            told = requests.measure_named(name, options.opened(sources, reading), given, current(), progress=done)
        say(*told.notes)
        present.table(told.frame)

    return command


@click.command
@click.argument("sources", nargs=-1, required=True, type=options.FILE, metavar="TABLE|STREAM…")
@click.option("--version", "version", type=int, metavar="N", help="Up to which version of the table, or the date.")
@click.option("--names", type=options.FILE, metavar="FILE", help="Names of characters: character,name.")
@click.option("--summary", is_flag=True, help="Only the sessions in words, not every message.")
@message_reading
@options.time_range
@options.table
def packets(
    *,
    sources: tuple[Path, ...],
    version: int | None,
    names: Path | None,
    summary: bool,
    reading: "SourceOptions",
    present: Presentation,
) -> None:
    """Say what a message table means, or what a client did.

    TABLE is a message table of a Ragnarok server, or headers of one that make up a table for --version YYYYMMDD: one
    row per id, with its length, function and parts; of several, on top of each other, the last counts. STREAM is a
    packetstream or a capture: every message in words, then each session. What a file is, its content says. --json and
    --out give the decoded messages.
    """
    from gamewarden import pipeline

    if all(pipeline.is_message_table(source) for source in sources):
        if reading.time_range.asks:
            raise click.UsageError("a message table has no times; leave --since, --until and --last out")
        told = pipeline.describe_table(sources, version, reading.messages.packet_client)
        say(*told.notes)
        present.table(told.frame)
        return
    if version is not None:
        raise click.UsageError("--version is for a message table; name that of a stream with --packet-version")
    _tell(sources, names, reading, present, summary=summary)


def _tell(
    sources: tuple[Path, ...], names: Path | None, reading: "SourceOptions", present: Presentation, *, summary: bool
) -> None:
    from gamewarden import pipeline
    from gamewarden.presentation.trace import decoded_frame, session_sentences, trace_lines

    stream = options.opened(sources, reading).messages()
    known = {} if names is None else pipeline.character_names(names)
    if present.for_machines:
        present.table(decoded_frame(stream))
        say(*stream.notes)
        return
    summed = pipeline.SummedUp(stream)
    with progress("summing up") as done:
        if summary:
            summed.read(done)
        for line in () if summary else trace_lines(summed.batches(), known):
            tell(line)
    for sentence in session_sentences(summed.sessions(), known):
        tell(sentence)
    say(*stream.notes)
