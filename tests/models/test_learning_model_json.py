"""Models as JSON: the dataclass of what a model holds is all that is known of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from gamewarden.errors import ModelError
from gamewarden.learning.model_json import dump, load, load_part
from gamewarden.learning.phrases import Phrase, SeenNumber, says
from gamewarden.learning.validation import Count, Positive, Rule, Text


@dataclass(frozen=True)
class Square:
    side: Positive
    kind: Literal["square"] = "square"


@dataclass(frozen=True)
class Circle:
    radius: Positive
    kind: Literal["circle"] = "circle"


@dataclass(frozen=True)
class Drawing:
    id: str = field(init=False, default="drawing@1")
    _counted: int = field(default=0, compare=False)
    shapes: Annotated[tuple[Square | Circle, ...], Rule(bool, "a list of at least one shape")] = field(
        default=(), metadata={"key": "forms"}
    )
    counts: Mapping[str, Count] = field(default_factory=dict)
    lengths: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    title: Text | None = None

    def agreements(self):
        yield "every shape is counted", len(self.shapes) == sum(self.counts.values())


WHOLE = {"forms": [{"side": 1, "kind": "square"}, {"radius": 2.5, "kind": "circle"}], "counts": {"a": 2}}


def refusal(values):
    with pytest.raises(ModelError) as caught:
        load_part(Drawing, values, "drawing@1")
    return str(caught.value)


def test_a_part_comes_back_as_it_was_with_tuples_and_classes():
    drawn = Drawing(shapes=(Square(1), Circle(2.5)), counts={"a": 2}, lengths={3: (1.0, 2.0)})

    written = dump(drawn)

    assert written["forms"] == WHOLE["forms"]
    assert "title" not in written
    assert "_counted" not in written
    read = {**written, "lengths": {"3": [1.0, 2.0]}}
    assert load_part(Drawing, {key: value for key, value in read.items() if key != "id"}, "drawing@1") == drawn


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"forms": []}, "forms is [], not a list of at least one shape"),
        ({"forms": 3}, "forms is 3, not a list"),
        ({"forms": [{"side": 0.0}]}, "forms[0]"),
        ({"forms": [{"side": 1.0, "kind": "circle"}]}, "forms[0]"),
        ({"forms": [{"side": 1.0, "colour": "red"}]}, "forms[0]"),
        ({"counts": {"a": -1}}, "counts['a'] is -1, not a whole number from 0 on"),
        ({"counts": {"a": True}}, "counts['a'] is True, not a whole number from 0 on"),
        ({"lengths": {"x": []}}, "not an object by whole numbers"),
        ({"lengths": {"1": [1.0, float("nan")]}}, "lengths['1'][1] is nan, not a finite number"),
        ({"title": ""}, "title is '', not a text with something in it"),
        ({"_counted": 3}, "it holds '_counted'"),
        ({"counts": {"a": 5}}, "it does not hold that every shape is counted"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place_and_what_was_seen(change, words):
    told = refusal({**WHOLE, **change})

    assert words in told
    assert told.startswith("model 'drawing@1': ")
    assert told.endswith("; fit it again")


def test_a_model_under_another_name_is_refused():
    values = {**WHOLE, "id": "drawing@2"}

    with pytest.raises(ModelError, match="its recipe and data make it 'drawing@1'"):
        load(Drawing, values)


@pytest.mark.parametrize("text", ["{value.__class__}", "{value:>999999999}", "{0}", "{nothing}", "{", "}"])
def test_words_from_a_file_are_never_more_than_words(text):
    phrase = Phrase(text, text, text, text, text)

    told = says(SeenNumber("column", 1.0, tuple(float(at) for at in range(101))), phrase)

    assert told.startswith(text)
    assert len(told) < 200
