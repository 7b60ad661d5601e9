"""`fit` for detectors of play sessions: streams, captures and folders of them, labelled by folder or by a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options, ragnarok
from gamewarden.cli.settings import current
from gamewarden.cli.show import Presentation, progress, say, show_page

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions
    from gamewarden.verdicts.prevalence import Prevalence


def fit_command(name: str) -> click.Command:
    """The command that trains this detector of sessions."""
    from gamewarden import detectors, pipeline, requests
    from gamewarden.cli.recipes import options_of

    detector = detectors.load(name)
    feature = pipeline.feature_class_of(name)

    @click.command(
        name,
        help=f"{detector.says}\n\nSOURCE is a packetstream, a capture or a folder of them, read recursively. Files in "
        "folders called players and bots are labelled by them, those in unknown are judged by the new model; or "
        "--labels says who is who. Prints the model's card, then what it says of the unknown ones.",
    )
    @click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SOURCE…")
    @click.option("--labels", type=options.FILE, metavar="FILE", help="Who is known: actor,bot …  [default: folders]")
    @options.kept_in
    @options_of(feature)
    @options_of(detector)
    @options.prevalence
    @ragnarok.message_reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def command(
        *,
        sources: tuple[options.Where, ...],
        labels: Path | None,
        to: Path,
        prevalence: "Prevalence",
        reading: "SourceOptions",
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        recipe = requests.recipe_named(name, given, current(), reading.logs.time_zone)
        with progress(f"fitting {name}") as done:
            held, run = options.opened(sources, reading), options.run_options(reading)
            told = pipeline.fit_sessions(recipe, held, labels, to, run=run, prevalence=prevalence, progress=done)
        say(*told.fitted.notes)
        page = pipeline.page_of(told.fitted.model, to)
        show_page(page, as_json=as_json)
        if told.unknown.height and not as_json:
            say(prevalence.sentence)
            Presentation(None, as_json=False).table(told.unknown, "Sessions nobody has labelled")
        say(f"The model is in {told.fitted.path}")

    return command
