"""Copies of one script, and people who only look like it: raiders, and those of one class in one place."""

from collections import Counter
from datetime import timedelta
from math import log

import numpy as np
import polars as pl
import pytest

from copies_made_up import ROUND, SKILLS, START, copies, parts_of, people, person
from gamewarden.errors import MeasureError
from gamewarden.features.copies.recipe import Copies
from gamewarden.groups.copying import groups_of, likeness
from gamewarden.tables import FrameEvents


def groups(lives):
    found = groups_of(likeness(parts_of(lives), 100))
    return [group["actor"].to_list() for _, group in found.group_by("group", maintain_order=True)]


def rows_of(lives, **options):
    return Copies(min_moments=100, **options).measure(FrameEvents(pl.concat(lives).sort("at")))


def test_accounts_that_run_one_script_are_one_group_and_nobody_else_is_in_it():
    assert groups([*people(30), *copies(6)]) == [[f"copy{number:02}" for number in range(6)]]


def test_two_scripts_are_two_groups():
    other = [one.with_columns(actor="other-" + pl.col("actor")) for one in copies(5, script=8)]

    assert [len(group) for group in groups([*people(30), *copies(6), *other])] == [6, 5]


def test_a_script_is_found_by_what_it_does_where_the_log_has_no_positions():
    lives = [one.with_columns(pl.lit(None, pl.Float32).alias("x"), y=None) for one in [*people(30), *copies(6)]]

    rows = rows_of(lives).filter(pl.col("since").dt.day() == 2)

    assert groups(lives) == [[f"copy{number:02}" for number in range(6)]]
    assert rows["same_way"].null_count() == rows.height


def test_a_raid_that_plays_in_step_is_no_group_of_copies():
    raid = [person(f"raider{number:02}", 900 + number, zone="Lair") for number in range(12)]

    found = rows_of([*people(20), *raid]).filter(pl.col("actor").str.starts_with("raider"))

    assert groups([*people(20), *raid]) == []
    assert found["together"].median() > 0.8
    assert (found["same_way_with"] == 0).all()


def test_people_of_one_class_who_hunt_in_one_place_with_the_same_skills_are_no_copies():
    def near(_, draw):
        return tuple(draw.uniform(100, 124, 2))

    hunters = [person(f"hunter{number:02}", 900 + number, skills=SKILLS[:2], places=near) for number in range(24)]

    assert groups([*people(20), *hunters]) == []


@pytest.mark.parametrize("kinds", [("item.craft",), ("item.craft", "item.use")])
def test_a_few_who_stand_at_the_anvil_or_fish_are_no_copies(kinds):
    def crafter(number):
        draw = np.random.default_rng(number)
        times = 5 + np.exp(0.6 * draw.normal(size=700))  # the game's own pace, and a hand's
        at = [START + timedelta(seconds=float(seconds)) for seconds in np.cumsum(times)]
        x, y = draw.uniform(0, 200, 2)
        rows = [
            (f"crafter{number}", when, kinds[place % len(kinds)], "Dion", x, y, 30) for place, when in enumerate(at)
        ]
        return pl.DataFrame(rows, people(1)[0].schema, orient="row")

    assert groups([*people(30), *map(crafter, range(8))]) == []


def test_the_stretch_that_copies_share_is_told_in_words():
    shared = rows_of([*people(30), *copies(6)]).filter(actor="copy00")["shared"][0]

    first, second, third = (part.split()[-1] for part in shared.rsplit(",", 1)[0].split(", "))
    assert {first, second, third} & set(SKILLS)
    assert {first, second, third} <= {*SKILLS, *ROUND}
    assert shared.endswith(" times")


def test_what_is_shared_has_words_whichever_kind_came_first():
    hits = [("a", 0.3 * number) for number in range(300)] + [("b", 0.3 * number) for number in range(300)]
    others = [(f"c{who}", 2.0 * number) for who in range(3) for number in range(300)]
    rows = [
        (who, START + timedelta(seconds=at), "combat.attack" if who in "ab" else "loot.pickup")
        for who, at in hits + others
    ]
    schema = {"actor": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String}
    for events in (rows, rows[::-1]):
        shared = dict(rows_of([pl.DataFrame(events, schema, orient="row")]).select("actor", "shared").iter_rows())
        assert shared["a"].startswith("combat.attack, within ½ s combat.attack, within ½ s combat.attack")


def made_up_parts(accounts, farm):
    """Sketches of a day: everybody has stretches of its own, the first few share them."""
    draw = np.random.default_rng(3)
    own = draw.integers(1 << 20, 1 << 60, (accounts, 8))
    own[:farm] = np.arange(8)
    return pl.DataFrame(
        {
            "since": START,
            "until": START + timedelta(days=1),
            "actor": [f"{number:06}" for number in range(accounts)],
            "events": 500,
            "level": 10,
            "zone": 1,
            "tenths": [[1, 1, 1]] * accounts,
            "moments": 400,
            "stretches": own.tolist(),
            "stretch_n": [[50] * 8] * accounts,
            "walks": 0,
            "ways": [[]] * accounts,
            "way_n": [[]] * accounts,
            "words": None,
        },
        Copies().parts_schema,
    )


def test_a_farm_of_hundreds_is_one_group_although_each_is_compared_with_a_few():
    found = likeness(made_up_parts(3000, 200), 100)

    assert groups_of(found)["actor"].to_list() == [f"{number:06}" for number in range(200)]
    assert groups_of(found)["group"].n_unique() == 1
    assert found.pairs.height < 200 * 60


def test_whoever_did_little_is_like_nobody():
    rows = rows_of([*people(10), person("short", 77, minutes=6)]).filter(actor="short")

    assert rows["events"][0] > 0
    assert rows["alike"][0] is None


def test_likeness_is_what_plain_python_says_of_everybody_with_everybody():
    lives = [*people(8), *copies(3)]
    parts = parts_of(lives, back=1).filter(pl.col("since") < START + timedelta(hours=6))
    days = parts.drop_nulls("actor")
    sketch = {
        row["actor"]: {what: n / row["moments"] for what, n in zip(row["stretches"], row["stretch_n"], strict=True)}
        for row in days.iter_rows(named=True)
    }
    holders = Counter(what for one in sketch.values() for what in one)

    found = likeness(parts, 1).pairs

    assert found.height >= 3
    for row in found.iter_rows(named=True):
        one, other = sketch[row["actor"]], sketch[row["other"]]
        wanted = sum(
            min(one[what], other[what]) * log(len(sketch) / holders[what]) / log(len(sketch))
            for what in one.keys() & other.keys()
        )
        assert row["alike"] == pytest.approx(wanted)


def test_a_row_speaks_of_the_days_it_looks_back_on():
    early = [one.with_columns(pl.col("at") - timedelta(days=3)) for one in copies(6)]
    today = [person(f"copy{number:02}", 40 + number) for number in range(6)]

    week = rows_of([*people(20), *early, *today]).filter(pl.col("since").dt.day() == 2, actor="copy00")
    day = rows_of([*people(20), *early, *today], back=1).filter(pl.col("since").dt.day() == 2, actor="copy00")

    assert week["same_way_with"][0] > 0
    assert day["same_way_with"][0] == 0


@pytest.mark.parametrize(
    ("options", "says"), [({"cell": -1.0}, "cell is -1.0"), ({"min_moments": 0}, "min_moments is")]
)
def test_an_option_that_nothing_can_be_measured_with_is_refused(options, says):
    with pytest.raises(MeasureError, match=says):
        Copies(**options)


def test_words_for_likeness_name_no_level_or_zone_that_a_log_may_not_have():
    leads = [
        lead
        for phrase in Copies().phrases.values()
        for lead in (phrase.more, phrase.usual, phrase.less, phrase.striking)
    ]

    assert [lead for lead in leads if "level" in lead or "zone" in lead] == []
