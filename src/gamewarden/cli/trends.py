"""`gamewarden trend`: whether bots become more, and where they are."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from gamewarden.cli import options
from gamewarden.cli.home import at_rest
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say
from gamewarden.core.extras import need
from gamewarden.presentation.listing import Layout

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence

_LAYOUT = Layout(("since", "zone", "bots", "judged", "share", "share_low", "share_high", "watch", "act", "expected"))


@click.command
@options.source
@options.models
@options.detector
@click.option("--by", type=click.Choice(["day", "zone"]), default="day", show_default=True, help="One row per what.")
@click.option(
    "--probability",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Count accounts from this bot probability on.  [default: warden.toml]",
)
@options.plot
@options.prevalence
@options.reading
@options.time_range
@options.fresh
@options.table
def trend(
    *,
    source: Path,
    models: Path,
    detector: str | None,
    by: Literal["day", "zone"],
    probability: float | None,
    plot: Path | None,
    prevalence: "Prevalence",
    reading: "SourceOptions",
    fresh: bool,
    present: Presentation,
) -> None:
    """Count accounts that look like bots, by day or by zone.

    By day: who played, who could be judged, bots and their share with its 95 % interval, how many reach the point to
    watch or to act, and `expected`, the sum of their probabilities. By zone: accounts whose main zone it was on a
    judged day. A count of accounts to look at, not of proven bots.
    """
    from gamewarden import pipeline

    if plot is not None:
        need("trend --plot", "matplotlib")
    asked = pipeline.TrendOptions(by, probability, detector, prevalence, current())
    home, run = at_rest("source", "models"), options.run_options(reading)
    with progress("counting") as done:
        if home is not None:
            told = options.answers(home, reading, fresh=fresh, progress=done).trend(asked)
        else:
            told = pipeline.trend(options.opened(source, reading), models, asked, run, done)
    say(*told.notes)
    if plot is not None:
        pipeline.draw_trend(told.frame, plot, asked, run)
        say(f"The trend is drawn in {plot}")
    present.table(told.frame if present.for_machines else told.frame.drop("until", strict=False), layout=_LAYOUT)
