"""Numbered names: who makes accounts by the dozen, and who just has a number in the name."""

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from gamewarden.features.folding import feed
from gamewarden.features.name_series import Names
from gamewarden.learning.phrases import SeenNumber, says
from gamewarden.tables import FrameEvents

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
PEOPLE = [f"{first}{last}" for first in ("an", "bo", "cy", "di", "ed", "fay") for last in ("mar", "lok", "tis", "vun")]
FARM = [f"xjkq{number:02}" for number in range(1, 5)]


def log(*played):
    """Events as (account, character, day)."""
    rows = [(actor, character, MONDAY + timedelta(days=day), "combat.kill") for actor, character, day in played]
    schema = {"actor": pl.String, "character": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def series(events, **options):
    """The number of each account on the last day."""
    rows = Names(**options).measure(FrameEvents(events))
    last = rows.filter(pl.col("since") == rows["since"].max())
    return dict(last.select("actor", "name_series").iter_rows())


def accounts(*names, day=0):
    return [(name, None, day) for name in names]


def test_each_account_of_a_series_has_the_others_beside_it_and_people_have_nobody():
    found = series(log(*accounts(*FARM, *PEOPLE)))

    assert {found[name] for name in FARM} == {3}
    assert {found[name] for name in PEOPLE} == {0}


def test_a_number_that_many_people_like_is_no_series():
    found = series(log(*accounts("dragon77", "shadow77", "lily7", "lily88", *PEOPLE)))

    assert found["dragon77"] == found["shadow77"] == found["lily7"] == 0


def test_numbers_that_lie_far_apart_or_are_written_with_other_digits_belong_to_two_series():
    found = series(log(*accounts("wolf001", "wolf051", "wolf102", "wolf03", *PEOPLE)))

    assert found["wolf001"] == found["wolf051"] == 1
    assert found["wolf102"] == found["wolf03"] == 0


def test_what_stands_after_the_number_belongs_to_the_name():
    found = series(log(*accounts("ab01x", "ab02x", "ab03y", *PEOPLE)))

    assert (found["ab01x"], found["ab02x"], found["ab03y"]) == (1, 1, 0)


def test_stems_of_one_letter_say_nothing():
    found = series(log(*accounts("x01", "x02", "77", *PEOPLE)))

    assert (found["x01"], found["77"]) == (None, None)


def test_the_way_in_which_a_game_numbers_its_accounts_says_nothing():
    numbered = [f"user{number}" for number in range(30)]

    found = series(log(*accounts(*numbered, *PEOPLE)))

    assert {found[name] for name in numbered} == {None}
    assert found[PEOPLE[0]] == 0


def test_where_accounts_are_numbered_the_names_of_characters_tell():
    people = [(f"user{number:02}", name, 0) for number, name in enumerate(PEOPLE)]
    farm = [(f"user{number}", name, 0) for number, name in zip((31, 47, 58, 77), FARM, strict=True)]

    found = series(log(*people, *farm))

    assert found["user31"] == found["user77"] == 3
    assert found["user00"] == 0


def test_where_characters_are_numbered_likewise_nothing_tells():
    found = series(log(*((f"user{number:02}", f"hero{number:02}", 0) for number in range(30))))

    assert {*found.values()} == {None}


def test_characters_of_its_own_are_no_others():
    alone = [("ann", f"alt{number}", 0) for number in range(1, 4)]

    assert series(log(*alone, *accounts(*PEOPLE)))["ann"] == 0


def test_an_account_with_several_characters_of_a_series_is_one_other():
    played = [(name, f"goldy{number:02}", 0) for name, number in [("ann", 1), ("bob", 2), ("bob", 3), ("cat", 4)]]

    found = series(log(*played, *accounts(*PEOPLE)))

    assert (found["ann"], found["bob"], found["cat"]) == (2, 2, 2)


def test_whichever_names_find_more_count():
    played = [(name, f"goldy{number:02}", 0) for number, name in enumerate([*FARM, "ann", "bob"])]

    found = series(log(*played, *accounts(*PEOPLE)))

    assert found["xjkq01"] == found["ann"] == 5


def test_those_who_played_in_the_days_before_count_and_have_no_row_of_their_own():
    events = log(*accounts(*FARM[:3]), *accounts(FARM[3], *PEOPLE, day=4))

    assert series(events)["xjkq04"] == 3
    assert "xjkq01" not in series(events)
    assert series(events, back=2)["xjkq04"] == 0


def test_events_of_a_day_are_those_of_all_characters():
    rows = Names().measure(FrameEvents(log(("ann", "a", 0), ("ann", "b", 0), ("ann", None, 0), ("ann", "a", 1))))

    assert rows["events"].to_list() == [3, 1]


def test_names_that_players_chose_to_break_something_are_names():
    nasty = ["", "ab\n01", "ab\n02", "ab" + "9" * 40, "ab" + "9" * 39 + "8", "ab٣", "ab٤", "é\u0301x1", "é\u0301x2"]

    found = series(log(*accounts(*nasty, *PEOPLE, *(f"{name}{name}" for name in PEOPLE))))

    assert (found["ab\n01"], found["ab" + "9" * 40], found["ab٣"], found["é\u0301x1"]) == (1, 1, 0, 1)


def counted(pairs, total):
    """The same in plain Python, name by name."""
    found = {}
    parsed = [(actor, re.fullmatch(r"(?s)(.*?)([0-9]{1,18})([^0-9]*)", name)) for actor, name in pairs]
    for actor, mine in parsed:
        found.setdefault(actor, [])
        if mine is None:
            found[actor].append(0)
            continue
        alike = [(who, its) for who, its in parsed if its and (its[1], its[3]) == (mine[1], mine[3])]
        sharing = len({who for who, _ in alike})
        if sum(letter.isalpha() for letter in mine[1]) < 2 or (sharing > 1 and 5 * sharing > total):
            continue
        near = {who for who, its in alike if len(its[2]) == len(mine[2]) and abs(int(its[2]) - int(mine[2])) <= 50}
        found[actor].append(len(near - {actor}))
    return found


NAME = st.builds(
    "{}{}{}".format, st.sampled_from(["ab", "abc", "x", ""]), st.integers(0, 160), st.sampled_from(["", "z"])
)


@given(st.lists(st.tuples(NAME, st.none() | NAME), max_size=40))
def test_the_kernel_agrees_with_plain_python(pairs):
    played = {*pairs, *((name, None) for name in PEOPLE)}

    found = series(log(*((actor, character, 0) for actor, character in sorted(played, key=str))))

    owners = {(actor, actor) for actor, _ in played}
    characters = {(actor, character) for actor, character in played if character is not None}
    by_account, by_character = counted(owners, len(owners)), counted(characters, len(owners))
    for actor in found:
        told = by_account[actor] + by_character.get(actor, [])
        assert found[actor] == (max(told) if told else None)


def test_neither_batches_nor_the_order_of_rows_matter():
    events = log(*((name, f"{name}{day}", day) for day in range(9) for name in (*FARM, *PEOPLE)))
    wanted = Names().measure(FrameEvents(events))

    shuffled = events.sample(fraction=1.0, shuffle=True, seed=1)

    assert_frame_equal(Names().measure(FrameEvents(shuffled, batch=7)), wanted)


def test_parts_hold_each_pair_of_a_day_once():
    fold = Names().part_fold()
    feed(fold, FrameEvents(log(*3 * [("ann", "a", 0)], ("ann", "b", 0), ("ann", "a", 1)), batch=1))

    assert fold.frame().select("actor", "character", "events").rows() == [
        ("ann", "a", 3),
        ("ann", "b", 1),
        ("ann", "a", 1),
    ]


def test_its_numbers_are_about_others():
    assert Names.about_others
    assert Names.odd_when == {"name_series": "high"}


def test_accounts_with_random_numbers_are_not_said_to_be_a_series():
    draw = np.random.default_rng(3)
    guests = [f"guest{number}" for number in draw.integers(1000, 10_000, 60)]

    found = series(log(*accounts(*guests, *(f"{one}{other}" for one in PEOPLE for other in PEOPLE))))

    told = says(SeenNumber("name_series", 1.0, [0.0] * 101), Names.phrases["name_series"])
    assert 1 in {found[name] for name in guests}  # chance puts two of sixty close together
    assert told.startswith(
        "More other accounts have its name with a number close to its own than with nearly all humans"
    )
    assert "series" not in told
