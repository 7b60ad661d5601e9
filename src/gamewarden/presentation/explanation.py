"""One actor's case as a part of a notebook: sentences by topic, and the picture of its windows."""

from datetime import timedelta
from typing import Any

import polars as pl

from gamewarden.learning.phrases import window_word
from gamewarden.presentation.pages import TableView, fragment, table_view
from gamewarden.presentation.rank_page import Series, picture_alone
from gamewarden.presentation.story import Case, Topics, judgement, topics_of

_MICROSECOND = timedelta(microseconds=1)


def explanation_fragment(story: Case) -> str:
    """The whole case; everything that comes from data is escaped."""
    judged = story.scores["probability"].drop_nulls().len() > 0
    told = topics_of(story) if judged else Topics()
    head, *lines = judgement(story).split("\n")
    return fragment(
        "explanation.html",
        kind="one account",
        title=head,
        judgement=lines,
        caveats=story.caveats,
        picture=_picture(story),
        topics=told.topics,
        footnote=told.footnote,
        periods=_periods(story),
        notes=[line for line in (story.prevalence.sentence, story.again) if line],
    )


def _periods(story: Case) -> TableView | None:
    if story.scores.height == 1:
        return None
    return table_view(story.scores.sort("since").select("since", "until", "probability", "fpr", "events"))


def _picture(story: Case) -> dict[str, Any] | None:
    if not story.windows.height:
        return None
    since, until = story.measured.select("since", "until").row(0)
    unit = story.windows.select(pl.col("until") - pl.col("since")).item(0, 0)
    word = window_word(unit // _MICROSECOND)
    return picture_alone(Series(since, until, story.windows, unit, word, story.time_zone, None, None))
