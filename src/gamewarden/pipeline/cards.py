"""A list of accounts in detail: what each card of its page shows, from one more reading of the source."""

from itertools import chain
from pathlib import Path

from gamewarden.contracts import Progress, Source, no_progress
from gamewarden.presentation.rank_cards import MOST_CARDS, drawn_of, highest_periods, sentences_of
from gamewarden.presentation.rank_page import AccountCard, RankPage
from gamewarden.presentation.ranking import Ranked
from gamewarden.streams import WatchedEvents


def rank_cards(ranked: Ranked, source: Source, models: Path, progress: Progress = no_progress) -> RankPage:
    """The page of a list: of at most 100 accounts, with one reading of the source for all of them."""
    behind, listed = ranked.behind, ranked.frame.head(MOST_CARDS)
    highest = highest_periods(behind)
    drawn = drawn_of(behind, highest, ranked.frame["actor"], WatchedEvents(source.events(), progress))
    cards = (
        AccountCard(row, *sentences_of(behind.evidence, highest, row["actor"]), drawn.series(row["actor"]))
        for row in listed.iter_rows(named=True)
    )
    hidden = ranked.frame.height - listed.height
    again = _explain_options(ranked, models, source)
    return RankPage(tuple(cards), behind.model.card, source.name, again, ranked.notes, hidden)


def _explain_options(ranked: Ranked, models: Path, source: Source) -> tuple[str, ...]:
    shares = (("--prevalence", f"{share:g}") for share in ranked.frame["prevalence"].head(1))
    return ("--models", str(models), "--detector", ranked.behind.model.card.detector, *chain(*shares), *source.flags)
