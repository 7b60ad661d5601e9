"""Searching accounts: the same as going through all of them by hand, whatever is asked and however it is paged."""

import base64
import csv
import io
import json
import shutil
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rich_made_up
from gamewarden.desk.conditions import CHOICES, PAGE_SIZES, RANGES, Conditions, Range
from gamewarden.desk.desk import Desk
from gamewarden.desk.known_people import profile_of
from gamewarden.desk.population import POINTS, STATES, population
from gamewarden.desk.search import PUBLISHED, Search, accounts, count, exported, facet, matching
from gamewarden.errors import ConfigError
from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace

TEXTS = ("point", "state", "zone", "server", "class", "customer_grade", "ticket", "label", "family", "detector")
NUMBERS = ("probability", "self_sim", "level", "money", "sharing", "play_minutes", "events", "days_reached", "streak")
SORTS = ("actor", "name", "zone", "ticket", "level", "probability", "point", "state", "days_reached", "guild", "since")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return Desk(rich_made_up.run_rich(tmp_path_factory.mktemp("made")))


@pytest.fixture(scope="module")
def rows(desk):
    """Everybody as plain values."""
    people = population(desk, Conditions().span)
    told = people.frame.to_dicts()
    for row in told:
        row["kinds"] = {kind for at, kind in enumerate(people.kinds) if row["kinds"] >> at & 1}
    return told


@st.composite
def conditions(draw):
    chosen = draw(st.lists(st.sampled_from(TEXTS), max_size=3, unique=True))
    values = st.sampled_from(["", "act", "watch", "neither", "Dion", "Aden", "elf", "orc", "GOLD", "90-day", "review"])
    more = st.sampled_from(["bot", "human", "farmer", "server-1", "account-day"])
    choices = tuple(
        (name, tuple(draw(st.lists(values | more, min_size=1, max_size=3, unique=True)))) for name in chosen
    )
    ranges = []
    for name in draw(st.lists(st.sampled_from(NUMBERS), max_size=2, unique=True)):
        ends = sorted(draw(st.lists(st.sampled_from([0.0, 0.5, 0.9, 2.0, 5.0, 20.0, 300.0]), min_size=2, max_size=2)))
        ranges.append((name, Range(ends[0], draw(st.sampled_from([ends[1], None])))))
    return Conditions(
        ranges=tuple(sorted(ranges, key=lambda one: list(RANGES).index(one[0]))),
        choices=choices,
        kinds=tuple(draw(st.lists(st.sampled_from(["chat", "npc.sell", "nothing"]), max_size=1))),
        text=draw(st.sampled_from(["", "", "BOT0", "name", "-C1", "1.", "%"])),
        sort=draw(st.sampled_from(SORTS)),
        falling=draw(st.booleans()),
    )


def meets(row, wanted, but=""):
    for name, one in wanted.ranges:
        value = row[RANGES[name]]
        inside = value is not None and (one.least is None or value >= one.least)
        if name != but and not (inside and (one.most is None or value <= one.most)):
            return False
    for name, values in wanted.choices:
        if name != but and (row[CHOICES[name]] or "") not in values:
            return False
    if but != "kind" and not set(wanted.kinds) <= row["kinds"]:
        return False
    names = [row[name] for name in ("actor", "name", "main_character") if row[name]]
    return but == "q" or any(wanted.text.lower() in name.lower() for name in names)


def weight(row, column):
    value = row[column]
    if column in {"point", "state"} and value is not None:
        return (POINTS if column == "point" else STATES).index(value)
    return value.timestamp() if isinstance(value, datetime) else value


def by_hand(rows, wanted):
    found = sorted((row for row in rows if meets(row, wanted)), key=lambda row: row["actor"])
    known = [row for row in found if row[wanted.sort] is not None]
    known.sort(key=lambda row: weight(row, wanted.sort), reverse=False)
    if wanted.falling:  # equal values stay by account
        known = sorted(known, key=lambda row: weight(row, wanted.sort), reverse=True)
    return [row["actor"] for row in (*known, *(row for row in found if row[wanted.sort] is None))]


@given(conditions())
def test_who_matches_and_in_which_order_is_what_one_finds_by_hand(desk, rows, wanted):
    assert matching(desk, wanted) == by_hand(rows, wanted)
    assert count(desk, wanted) == len(by_hand(rows, wanted))


@given(conditions())
def test_counts_are_of_those_who_meet_all_other_conditions(desk, rows, wanted):
    view = accounts(desk, wanted)

    assert view.total == len(by_hand(rows, wanted))
    for one in view.facets:
        others = [row for row in rows if meets(row, wanted, but=one.name)]
        for choice in one.choices:
            if one.name == "kind":
                expected = sum(choice.value in row["kinds"] for row in others)
            else:
                column = CHOICES.get(one.name) or one.name.removeprefix("profile.")
                expected = sum((row[column] or "") == choice.value for row in others)
            assert choice.accounts == expected
    for one in view.spreads:
        others = [row[one.column] for row in rows if meets(row, wanted, but=one.name)]
        assert sum(one.accounts) == sum(value is not None for value in others)
    for chip in view.chips:
        assert chip.accounts_without == sum(meets(row, wanted, but=chip.name) for row in rows)


def small(wanted, size):
    """The same in pages that are smaller than any that is offered."""
    return Conditions(**{**wanted.__dict__, "size": size})


def at(url):
    """The conditions of an address, whatever it says of sizes."""
    return Conditions.of_query("&".join(part for part in url.partition("?")[2].split("&") if "size=" not in part))


@given(conditions(), st.sampled_from([1, 3, 7]))
def test_paging_visits_every_account_once_forth_and_back(desk, wanted, size):
    asked, seen, places = small(wanted, size), [], []
    while True:
        view = accounts(desk, asked)
        seen += [row.actor for row in view.rows]
        places.append((view.first, [row.actor for row in view.rows]))
        if view.next is None:
            break
        asked = small(at(view.next), size)

    assert seen == matching(desk, wanted)
    assert [first for first, some in places if some] == list(range(1, len(seen) + 1, size))
    for expected in reversed(places[:-1]):
        view = accounts(desk, asked)
        assert view.previous is not None
        asked = small(at(view.previous), size)
        back = accounts(desk, asked)
        assert (back.first, [row.actor for row in back.rows]) == expected


@given(conditions())
def test_an_address_says_all_that_the_conditions_say(wanted):
    assert Conditions.of_query(wanted.url().partition("?")[2]) == wanted


def test_a_place_whose_account_is_gone_is_still_a_place(desk):
    wanted = Conditions(sort="level")
    found = Search(desk, wanted)
    middle = int(found.ordered[10])
    place = found.cursor(middle)
    value = found.order.keys[middle]
    gone = json.dumps([value, found.people.frame["actor"][middle] + "!"])
    after = base64.urlsafe_b64encode(gone.encode()).decode()
    one = accounts(desk, Conditions(sort="level", after=place))
    other = accounts(desk, Conditions(sort="level", after=after))
    assert [row.actor for row in one.rows] == [row.actor for row in other.rows]


@pytest.mark.parametrize(
    "query",
    [
        "probability_from=nan",
        "probability_from=1e999",
        "probability_from=abc",
        "money_from=" + "9" * 400,
        "probability_from=0.9&probability_to=0.1",
        "q=" + "x" * 10_000,
        "nothing=1",
        "probability=0.9",
        "sort=password",
        "sort=kinds",
        "sort=days",
        "columns=nothing",
        "size=1000000",
        "order=sideways",
        "days=-1",
        "since=yesterday",
        "after=%00%ff",
        "after=bnVsbA",
        "after=WyJhIiwgInUiXQ",
        "after=WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAsICJ1Il0&sort=events",
        "after=" + "A" * 9_000,
        "profile.nothing=1",
        "profile.=1",
        "guard_pattern_from=1",
        "zone=" + "&zone=".join(map(str, range(60))),
        "protected=maybe",
        "x" * 20_000,
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(desk, query):
    with pytest.raises(ConfigError) as refused:
        accounts(desk, Conditions.of_query(query))

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_what_profiles_have_beside_the_usual_can_be_chosen_and_shown(desk):
    view = accounts(desk, Conditions.of_query("profile.guild=Moon&columns=actor&columns=guild"))

    assert view.total
    assert {row.values["guild"] for row in view.rows} == {"Moon"}
    assert "profile.guild" in [one.name for one in view.facets]


def test_the_columns_of_the_published_page_can_be_shown(desk):
    view = accounts(desk, Conditions(columns=PUBLISHED))

    assert view.columns == PUBLISHED
    assert set(view.rows[0].values) == set(PUBLISHED)


def test_a_condition_is_taken_back_by_choosing_it_again():
    wanted = Conditions().with_choice("zone", "Dion").with_choice("zone", "Aden").with_choice("kind", "chat")

    assert wanted.with_choice("zone", "Dion").with_choice("zone", "Aden").with_choice("kind", "chat") == Conditions()
    assert wanted.without("zone").without("kind") == Conditions()
    assert wanted.with_range("level", Range(5.0)).without("level") == wanted


def test_values_that_somebody_looks_for_are_found(desk):
    told = facet(desk, Conditions(), "zone", "DI")

    assert [choice.value for choice in told.choices] == ["Dion"]
    with pytest.raises(ConfigError, match="no condition by choice"):
        facet(desk, Conditions(), "actor")


@settings(max_examples=settings.default.max_examples * 20 // 25)
@given(conditions())
def test_an_export_has_all_that_match_in_their_order(desk, wanted):
    lines = list(csv.DictReader(io.StringIO("".join(exported(desk, wanted, "csv")))))
    told = json.loads("".join(exported(desk, wanted, "json")))

    assert [row["actor"] for row in lines] == matching(desk, wanted) == [row["actor"] for row in told]
    shown = [name for name in Search(desk, wanted).shown if name != "days"]
    assert all(list(row) == shown for row in told)


def test_an_export_holds_no_formula_and_pages_are_of_the_offered_sizes(desk, tmp_path):
    shutil.copytree(desk.workspace.root, tmp_path / "ws")
    path = tmp_path / "ws" / "profiles.csv"
    names = rich_made_up.profiles().with_columns(name="=HYPERLINK(1)" + rich_made_up.number().cast(str))
    write_table(names, path)
    told = "".join(exported(Desk(Workspace.at(tmp_path / "ws")), Conditions(), "csv"))

    rows = list(csv.DictReader(io.StringIO(told)))
    assert any("HYPERLINK" in row["name"] for row in rows)
    assert not any(row["name"].startswith(("=", "+", "-", "@")) for row in rows)
    assert [Conditions.of_query(f"size={size}").size for size in PAGE_SIZES] == list(PAGE_SIZES)


def test_an_account_page_and_the_list_do_not_take_each_others_profiles(desk):
    ours = Desk(desk.workspace)
    before = [one.name for one in accounts(ours, Conditions()).facets]
    known = [profile_of(ours, row["actor"]).height for row in rich_made_up.profiles().to_dicts()]
    other = Desk(desk.workspace)
    profile_of(other, "bot001")

    assert set(known) == {1}
    assert [one.name for one in accounts(other, Conditions()).facets] == before


@pytest.mark.parametrize("told", [[0.5, "\ud800"], ["\ud800", "bot001"]])
def test_a_place_in_the_list_with_half_a_letter_is_refused(desk, told):
    cursor = base64.urlsafe_b64encode(json.dumps(told).encode()).decode()

    with pytest.raises(ConfigError):
        accounts(desk, Conditions(sort="probability" if told[0] == 0.5 else "zone", after=cursor))


@pytest.mark.parametrize("column", ["probability", "since", "kinds", "protected", "payment", "level"])
def test_only_texts_are_chosen_by_value(desk, column):
    with pytest.raises(ConfigError, match="nothing is known"):
        accounts(desk, Conditions.of_query(f"profile.{column}=1"))


def test_a_search_holds_only_a_few_orders_however_many_are_asked_for(desk):
    matches = Search(desk, Conditions.of_query("probability_from=0")).matches

    for column in SORTS:
        again = [matches.ordered(column, falling=falling).tolist() for falling in (True, False, True)]
        assert again[0] == again[2]

    assert len(matches._ordered) <= 4
