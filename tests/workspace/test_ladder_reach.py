"""Which steps nobody can reach is said with the reason, and with what would change it."""

from pathlib import Path

import pytest

from gamewarden.config import config_from
from gamewarden.response.adapters import ways_of
from gamewarden.response.ladder import Ladder
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.reach import Reach, Voice
from gamewarden.workspace.ladder_reach import Reachability


def said(*people, fusion=None, **settings):
    """The sentences for families of which so many people are known."""
    config = config_from(settings, "test")
    families = [Voice(f"family{number}", humans) for number, humans in enumerate(people, 1)]
    reach = Reach(OperatingPoints(), families, None if fusion is None else Voice("fusion", fusion))
    return list(Reachability(Ladder.of(config), reach, ways_of(config.adapters, Path())).sentences())


def rate(step, needs, known, least, more):
    known_people = f"{known} known people can state no less than {least} %"
    return (
        f"{step} cannot be reached: it needs a false-positive rate of {needs} %, and {known_people}; review {more} more"
    )


def test_nothing_is_said_where_all_steps_can_be_reached():
    assert said(99, 99, fusion=99) == []


def test_a_rate_that_too_few_known_people_can_state_is_said_with_how_many_it_takes():
    found = said(35, 35, fusion=35)

    assert found == [
        rate("limit", 2, 35, 2.78, 14),
        rate("challenge", 2, 35, 2.78, 14),
        rate("freeze", 1, 35, 2.78, 64),
        rate("isolate", 1, 35, 2.78, 64),
    ]
    assert said(99, 99, fusion=35 + 64) == []


def test_what_is_said_to_suffice_without_a_fusion_does():
    short = said(60, 60)
    more = int(short[-1].rpartition("review ")[2].removesuffix(" more").replace(",", ""))

    assert said(60 + more, 60 + more) == []
    assert said(60 + more - 1, 60 + more - 1) != []


def test_of_three_families_the_one_with_the_second_most_known_people_decides():
    assert said(30, 100, 120) == [rate(step, 1, 100, 1.49, 49) for step in ("freeze", "isolate")]
    assert said(30, 149, 149) == []


def test_one_family_reaches_a_freeze_only_after_a_failed_challenge():
    families = "it needs 2 families of evidence; the models in force have 1: family1"

    assert said(999) == [
        f"{step} can be reached only after a failed challenge: {families}" for step in ("freeze", "isolate")
    ]


def test_one_family_never_reaches_a_freeze_where_nobody_can_be_tested():
    log = {"name": "log", "kind": "log", "steps": ["limit", "freeze", "isolate"]}
    families = "it needs 2 families of evidence; the models in force have 1: family1"

    assert said(999, response={"adapter": [log]}) == [
        "challenge cannot be reached: no adapter can challenge; name one in [[response.adapter]]",
        f"freeze cannot be reached: {families}",
        f"isolate cannot be reached: {families}",
    ]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"response": {"cases_per_day": 0}}, "review cannot be reached: [response] cases_per_day is 0"),
        (
            {"verdict": {"act": 0.0}},
            "limit cannot be reached: it needs a false-positive rate of 0, which no verdict has",
        ),
        (
            {"response": {"most": 4.0}},
            "freeze cannot be reached: its rung begins at 4.5, and [response] most is 4",
        ),
    ],
)
def test_settings_that_close_a_step_are_named(settings, says):
    assert says in said(999, 999, fusion=999, **settings)
