"""Ledgers of votes: a clock that ticks, candidates, and reviews of every kind."""

from datetime import timedelta

from gamewarden.desk_records import Review
from gamewarden.verdicts.review_order import Candidate
from ledgers_made_up import AT


class Clock:
    """A second passes at each look."""

    def __init__(self, at=AT):
        self.at = at

    def __call__(self):
        self.at += timedelta(seconds=1)
        return self.at


def candidates(count=30):
    return [Candidate(f"a{number:02}", (number + 1) / count) for number in range(count)]


def said(number, says="bot", rater="Ada", **changed):
    """What a rater says of the account of this number; chance had drawn it."""
    values = {"at": AT + timedelta(minutes=number), "score_seen": False, "drawn": True, **changed}
    return Review(id=f"{rater}{number}{says}", actor=f"a{number:02}", rater=rater, says=says, **values)
