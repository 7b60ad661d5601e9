"""What explanations never say, for many rows of every detector that judges tables."""

import polars as pl
import pytest

from gamewarden import detectors, features
from gamewarden.pipeline import Explanation, input_of
from gamewarden.presentation.story import explanation_text, side_of, weighed_topics
from grounds import ground_of, recipe_of

NAMES = [name for name in detectors.names() if input_of(name) != "packets"]
NOBODY = "no human in training was that far"


@pytest.fixture(scope="module", params=NAMES)
def model(request):
    return recipe_of(request.param).fit(ground_of(request.param).table, ground_of(request.param).labels)


@pytest.fixture(scope="module")
def explained(model):
    """Explanations of rows as they are, and of rows whose numbers lie far above and below everybody's."""
    table = ground_of(model.card.detector).table.head(30)
    kept = {"actor", "since", "until", "events", "valid", "enough"}
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and name not in kept]
    far = [table.with_columns(_times(table[name], factor) for name in numbers) for factor in (9, 0)]
    return [_explained(model, rows[at]) for rows in (table, *far) for at in range(rows.height)]


def _times(numbers, factor):
    """Numbers times a factor; shares stay shares."""
    most = 1 if (numbers.max() or 0) <= 1 else None
    return (numbers * factor).clip(upper_bound=most).cast(numbers.dtype)


def _explained(model, row):
    scores, evidence = model.score(row), model.explain(row)
    story = Explanation("a", model, scores, evidence, row, pl.DataFrame())
    return evidence, explanation_text(story) if scores["probability"].drop_nulls().len() else ""


@pytest.mark.integration
def test_a_usual_number_has_no_mark(explained):
    marked = [line for _, text in explained for line in text.splitlines() if line.lstrip()[:1] in {"+", "−", "●"}]

    assert [line for line in marked if "usual" in line.partition(":")[0]] == []


def test_what_no_known_person_does_never_speaks_for_a_person(explained):
    sides = [
        (side_of(row), row["says"])
        for evidence, text in explained
        for row in (evidence.iter_rows(named=True) if text else ())
    ]
    columns = [text.partition("Speaks for a human\n")[2].partition("\n\n")[0] for _, text in explained]

    assert [says for side, says in sides if side == "human" and NOBODY in says] == []
    assert [text for text in columns if NOBODY in text] == []


def test_a_topic_of_usual_and_unreached_numbers_does_not_speak_for_a_person(explained, model):
    phrases = getattr(model, "phrases", None)
    topics = [topic for evidence, text in explained if text for topic in weighed_topics(evidence, phrases)]

    silent = [t for t in topics if all("usual" in r["says"].partition(":")[0] or NOBODY in r["says"] for r in t.rows)]
    assert [topic for topic in silent if topic.side == "human"] == []


@pytest.mark.parametrize("name", features.names())
def test_the_words_of_a_feature_call_a_usual_number_usual_and_no_other(name):
    phrases = features.load(name)().phrases or {}

    assert [column for column, phrase in phrases.items() if "usual" not in phrase.usual] == []
    others = [lead for one in phrases.values() for lead in (one.more, one.less, one.striking)]
    assert [lead for lead in others if "usual" in lead] == []
