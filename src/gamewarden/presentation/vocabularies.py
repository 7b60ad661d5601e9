"""Over which kinds a self-similarity is: another vocabulary gives another number, so every command says its own."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gamewarden.contracts import Feature, Model, Source, Vocabulary, canonical_json, digest
from gamewarden.core.durations import span_text
from gamewarden.core.text import counted
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.store.lake import Lake


@dataclass(frozen=True)
class Days:
    """The recipe that shows an actor's days to people, and the model it comes from."""

    recipe: SelfSimilarity
    model: Model | None  # none of a shelf looks at self-similarity: then over the kinds of the source

    def again(self, source: Source, models: Path) -> str:
        """Over which kinds the self-similarities of a source are, and the command that gives the same numbers."""
        over = f"Self-similarity is {_over(self.recipe.learned, self.model)}"
        if not source.nameable:
            return f"{over}."
        options = self._options(models, Lake.time_zone_at(Path(source.name)))
        command = shlex.join(("gamewarden", "measure", "self-similarity", source.name, *options, *source.flags))
        return f"{over}; `{command}` gives the same numbers."

    def _options(self, models: Path, lake_zone: str | None) -> tuple[str, ...]:
        if self.model is not None:
            return ("--models", str(models), "--detector", self.model.card.detector)
        spans = ("--unit", span_text(self.recipe.unit), "--every", span_text(self.recipe.every))
        least = ("--min-windows", str(self.recipe.min_windows))
        named = self.recipe.time_zone or (lake_zone and "UTC")
        time_zone = ("--time-zone", named) if named else ()
        return (*spans, *least, *(("--by", self.recipe.by) if self.recipe.by != SelfSimilarity.by else ()), *time_zone)


def said_over(feature: Feature, model: Model | None) -> Iterator[str]:
    """Over which kinds a number is that is another one over others."""
    learned = feature.learned
    if learned is not None and learned.kinds is not None and learned.number:
        yield f"{learned.number} is {_over(learned, model)}; another vocabulary gives other numbers."


def _over(learned: Vocabulary, model: Model | None) -> str:
    if learned.kinds is None:
        return "over the kinds of this source"
    whose = "given" if model is None else f"that {model.card.id} learned"
    named = digest(canonical_json(list(learned.kinds)))
    return f"over the {counted(len(learned.kinds), 'kind')} {whose} (vocabulary {named})"
