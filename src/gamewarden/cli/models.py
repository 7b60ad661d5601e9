"""Commands for finding bots: `fit`, `score`, `rank`, `explain`, `evaluate`."""

from pathlib import Path
from typing import Any

import click

from gamewarden.cli import options
from gamewarden.cli.logs import reading
from gamewarden.cli.registry import LateOptions, PartGroup
from gamewarden.cli.settings import current
from gamewarden.cli.show import progress, say, show_table


def _fit_command(name: str) -> click.Command:
    from gamewarden import detectors, pipeline
    from gamewarden.cli.recipes import chosen, options_of

    detector = detectors.load(name)
    feature = pipeline.feature_class_of(name)

    @click.command(name, help=f"{detector.says}\n\nPrints the model's card; the model itself is one JSON file in --to.")
    @options.source
    @options.labels
    @click.option("--to", "models", type=options.FILE, required=True, metavar="DIR", help="Where the model is kept.")
    @options_of(feature)
    @options_of(detector)
    @options.reading
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    @click.pass_context
    def command(
        ctx: click.Context,
        source: Path,
        labels: Path,
        models: Path,
        mapping: str | None,
        zone: str | None,
        *,
        as_json: bool,
        **given: Any,  # noqa: ANN401  each recipe brings options of its own
    ) -> None:
        config = current(ctx)
        recipe = pipeline.detector_recipe(name, chosen(detector, given), chosen(feature, {**given, "zone": zone}), config)
        with progress(f"fitting {name}") as done:
            fitted = pipeline.fit(recipe, source, labels, models, reading(config, mapping, zone), done)
        for line in fitted.remarks:
            say(line)
        click.echo(pipeline.card_json(fitted.model) if as_json else pipeline.card_text(fitted.model))
        say(f"model {fitted.model.card.id} in {fitted.path}")

    return command


def _detector_names() -> tuple[str, ...]:
    from gamewarden import detectors

    return detectors.NAMES


@click.group(cls=PartGroup, names=_detector_names, make=_fit_command)
def fit() -> None:
    """Train a detector on labelled accounts."""


@click.command
@options.source
@options.models
@options.reading
@options.table
@click.pass_context
def score(
    ctx: click.Context,
    source: Path,
    models: Path,
    mapping: str | None,
    zone: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Score every account and period with every model.

    `probability` is the calibrated chance of a bot, `alarm` the share of reference humans that look at least as
    bot-like. Both are empty where there is too little evidence to say.
    """
    from gamewarden import pipeline

    with progress("scoring") as done:
        scored = pipeline.score(source, models, reading(current(ctx), mapping, zone), done)
    for line in scored.remarks:
        say(line)
    show_table(scored.frame, out, as_json=as_json)


@click.command
@options.source
@options.models
@click.option("--detector", help="Rank by this detector; by default the one that sees most.")
@click.option("--probability", type=float, help="List accounts from this bot probability on.  [default: warden.toml]")
@click.option("--self-similarity", type=float, help="At least this self-similarity.")
@click.option("--level", metavar="FROM[:TO]", help="Level of the main character.")
@click.option("--zone-name", "zones", multiple=True, metavar="ZONE", help="Main activity zone; may be given again.")
@click.option("--play-time", metavar="FROM[:TO]", help="Minutes online per period.")
@click.option("--profiles", type=options.FILE, metavar="FILE", help="What is known beside the events, one row an actor.")
@click.option("--where", multiple=True, metavar="COLUMN OP VALUE", help="Any column, e.g. 'customer_grade=GOLD' or 'payment<1000'.")
@click.option("--top", type=int, help="At most so many; 0 lists all.  [default: warden.toml]")
@options.reading
@options.table
@click.pass_context
def rank(
    ctx: click.Context,
    source: Path,
    models: Path,
    mapping: str | None,
    zone: str | None,
    out: Path | None,
    *,
    as_json: bool,
    **wishes: Any,  # noqa: ANN401  the filters, see pipeline.Wishes
) -> None:
    """List the accounts to look at, highest first, with reasons.

    A list for review by a person, never a list of sanctions.
    """
    from gamewarden import pipeline

    config = current(ctx)
    with progress("ranking") as done:
        ranked = pipeline.rank(
            source, models, pipeline.Wishes.of(config, **wishes), reading(config, mapping, zone), done
        )
    for line in ranked.remarks:
        say(line)
    show_table(ranked.frame, out, as_json=as_json)


@click.command
@click.argument("actor")
@options.source
@options.models
@click.option("--detector", help="Explain by this detector; by default the one that sees most.")
@click.option("--plot", type=options.FILE, metavar="FILE", help="Draw the actor's windows as a PNG.")
@options.reading
@options.table
@click.pass_context
def explain(
    ctx: click.Context,
    actor: str,
    source: Path,
    models: Path,
    detector: str | None,
    plot: Path | None,
    mapping: str | None,
    zone: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Say in sentences why an account scores as it does."""
    from gamewarden import pipeline

    with progress(f"looking at {actor}") as done:
        story = pipeline.explain(actor, source, models, detector, reading(current(ctx), mapping, zone), done)
    if plot is not None:
        pipeline.plot_story(story, plot)
        say(f"windows drawn in {plot}")
    if out is not None or as_json:
        show_table(story.evidence, out, as_json=as_json)
    else:
        click.echo(story.text())


def _self_similarity_options() -> list[click.Parameter]:
    from gamewarden import features
    from gamewarden.cli.recipes import options_of

    holder = click.Command("options")
    options_of(features.load("self-similarity"))(holder)
    return holder.params


@click.command(cls=LateOptions, late=_self_similarity_options)
@options.source
@options.labels
@click.option("--group", metavar="COLUMN", help="Column of the labels: who belongs together is held out together.")
@click.option("--folds", type=int, help="Parts the actors are split into.  [default: warden.toml]")
@click.option("--prevalence", type=float, help="Share of bots for which precision is stated.  [default: warden.toml]")
@click.option("--plot", type=options.FILE, metavar="FILE", help="Draw the ROC curves as a PNG.")
@options.reading
@options.table
@click.pass_context
def evaluate(
    ctx: click.Context,
    source: Path,
    labels: Path,
    group: str | None,
    folds: int | None,
    prevalence: float | None,
    plot: Path | None,
    mapping: str | None,
    zone: str | None,
    out: Path | None,
    *,
    as_json: bool,
    **given: Any,  # noqa: ANN401  the options of self-similarity
) -> None:
    """Say how good the detectors are on accounts they have not seen.

    Cross-validated by actor, or by the group an actor belongs to; beside each detector stands a baseline that knows
    nothing.
    """
    from gamewarden import features, pipeline
    from gamewarden.cli.recipes import chosen

    config = current(ctx)
    feature = features.load("self-similarity")
    recipe = pipeline.feature_recipe("self-similarity", chosen(feature, {**given, "zone": zone}), config)
    protocol = pipeline.Protocol.of(config, group=group, folds=folds, prevalence=prevalence)
    with progress("evaluating") as done:
        result = pipeline.evaluate(recipe, source, labels, protocol, reading(config, mapping, zone), done)
    for line in result.remarks:
        say(line)
    if plot is not None:
        pipeline.plot_evaluation(result, plot)
        say(f"ROC curves drawn in {plot}")
    show_table(result.frame, out, as_json=as_json)
