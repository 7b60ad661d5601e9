"""How two models differ: in what they were made of, in what they learned, and in whom they would suspect."""

from gamewarden import detectors
from gamewarden.contracts import Model, Progress, Source, no_progress
from gamewarden.errors import ModelError
from gamewarden.evaluation.two_models import by_both, crossings
from gamewarden.pipeline.scoring import hear
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.tables import Table
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence


def compare_on(
    models: tuple[Model, Model],
    source: Source,
    listed_from: float,
    run: RunOptions = USUAL,
    *,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> Table:
    """Who scores differently under two models: both probabilities and alarms, the largest difference first.

    `listed_from` is the probability from which an account would be listed.

    Raises:
        ModelError: one is a fusion, which scores no source by itself.
    """
    for model in models:
        if detectors.fuses(model.card.detector):
            raise ModelError(f"{model.id} judges scores, not a source; compare the models it hears")
    heard = hear(models, source, run, progress)
    if {model.card.id for model in models} != {model.card.id for model in heard.models}:
        raise ModelError(f"{source.name}: {heard.caveats[0]}")
    shown = heard.at(prevalence)
    table = by_both(*(shown.filter(model=model.card.id) for model in models))
    return Table(table, (*heard.notes, *heard.caveats, prevalence.sentence, *crossings(table, listed_from)))
