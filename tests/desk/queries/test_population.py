"""Everybody who was judged in some days, a row each: the same as going through all rows by hand."""

import shutil
from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rich_made_up
from gamewarden.cases import Appeal, Decision, Protected, Suspicion
from gamewarden.desk.desk import Desk
from gamewarden.desk.known_people import profile_of
from gamewarden.desk.population import NOT_JUDGED, Latest, Span, judged_days, population
from gamewarden.errors import ConfigError
from gamewarden.tables import write_table
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.labels import vote
from gamewarden.workspace.place import Workspace
from workspaces_made_up import LATER, run_all

SPANS = st.sampled_from([Span(1), Span(2), Span(30), Span(), Span(None, date(2026, 3, 3), date(2026, 3, 4))])


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory):
    return rich_made_up.run_rich(tmp_path_factory.mktemp("made"))


@pytest.fixture
def workspace(at_rest, tmp_path):
    shutil.copytree(at_rest.root, tmp_path / "ws")
    return Workspace.at(tmp_path / "ws")


@pytest.fixture(scope="module")
def rows(at_rest):
    """All rows by actor, the earliest day first."""
    table = DeskTables(at_rest).table("accounts").sort("actor", "since")
    return {actor: mine.to_dicts() for (actor,), mine in table.partition_by("actor", as_dict=True).items()}


def highest(days):
    return max(days, key=lambda one: (-1 if one["probability"] is None else one["probability"], one["since"]))


def total(days, name):
    known = [one[name] for one in days if one[name] is not None]
    return sum(known) if known else None


@settings(max_examples=settings.default.max_examples * 10 // 25)
@given(SPANS)
def test_a_row_is_the_highest_day_and_what_the_days_add_up_to(at_rest, rows, span):
    people = population(Desk(at_rest), span)
    begins = [one.since for one in people.days]

    for told in people.frame.to_dicts():
        mine = [one for one in rows[told["actor"]] if one["since"] in begins]
        best = highest(mine)
        for name in ("since", "probability", "fpr", "point", "verdict", "reason", "zone", "detector", "self_sim"):
            assert told[name] == best[name]
        assert told["level"] == best["level"]
        assert told["play_minutes"] == best["play_minutes"]
        assert told["money_total"] == total(mine, "money_gained")
        assert told["events_total"] == total(mine, "events")
        assert told["play_total"] == total(mine, "play_minutes")
        assert told["sharing"] == max(one["sharing"] for one in mine)
        assert told["days_judged"] == sum(one["point"] is not None for one in mine)
        assert told["days_reached"] == sum(one["point"] in {"act", "watch"} for one in mine)
        assert told["last"] == mine[-1]["since"]
        kinds = people.days[0].partition.about["kinds"]
        did = {kind for one in mine for at, kind in enumerate(kinds) if one["kinds"] >> at & 1}
        assert {kind for at, kind in enumerate(people.kinds) if told["kinds"] >> at & 1} == did
    assert set(people.frame["actor"]) == {a for a, mine in rows.items() if any(o["since"] in begins for o in mine)}
    assert people.frame["actor"].is_sorted()


def test_the_drawing_has_the_probability_of_each_day(at_rest, rows):
    people = population(Desk(at_rest), Span())

    for actor, drawn in zip(people.frame["actor"], people.drawn, strict=True):
        told = {one["since"]: one["probability"] for one in rows[actor]}
        for day, step in zip(people.drawn_days, drawn.tolist(), strict=True):
            known = told.get(day.since)
            assert (step == NOT_JUDGED) == (known is None)
            assert known is None or abs(step / 254 - known) <= 0.5 / 254 + 1e-12


def test_profiles_stand_beside_and_a_level_that_was_played_counts_more(at_rest):
    frame = population(Desk(at_rest), Span()).frame
    one = frame.filter(actor="bot003").to_dicts()[0]

    assert (one["name"], one["class"], one["server"], one["guild"]) == ("Namebot003", "elf", "server-0", None)
    assert one["level"] < 20  # the profile says 23
    assert frame.filter(actor="bot007")["name"].to_list() == [None]


def test_a_profile_is_found_after_the_list_was_looked_at_however_its_file_is_sorted(workspace):
    write_table(rich_made_up.profiles().sort("actor", descending=True), workspace.root / "profiles.csv")
    desk = Desk(workspace)
    population(desk, Span())

    assert profile_of(desk, "bot003")["name"].to_list() == ["Namebot003"]


def test_streaks_are_those_that_verdicts_have(at_rest):
    frame = population(Desk(at_rest), Span()).frame
    judged = at_rest.judged(LATER).verdicts()
    last = judged.group_by("actor", maintain_order=True).last()

    assert dict(frame.select("actor", "streak").rows()) == dict(last.select("actor", "streak").rows())


def test_a_span_is_a_number_of_days_or_two_dates():
    assert Span.parse() == Span(30)
    assert Span.parse("7") == Span(7)
    assert Span.parse("all") == Span()
    assert Span.parse("7", "2026-03-01") == Span(None, date(2026, 3, 1), None)
    assert Span.parse(**Span(None, date(2026, 3, 1), date(2026, 3, 2)).query).query == {
        "since": "2026-03-01",
        "until": "2026-03-02",
    }


@pytest.mark.parametrize("days", ["0", "-1", "seven", "99999", "1e3", "٣"])
def test_no_other_text_is_a_number_of_days(days):
    with pytest.raises(ConfigError, match="days is"):
        Span.parse(days)


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "2026-03-01T00:00:00"])
def test_no_other_text_is_a_date(text):
    with pytest.raises(ConfigError, match="since is"):
        Span.parse("", text)


def decided(actor, step, rung, **more):
    told = {"until": LATER + timedelta(days=1), "because": ("so",), "evidence": (), "ladder": "", "by": "me"}
    return Decision(f"d-{actor}-{step}", actor, LATER, step, rung, **{**told, "rehearsal": False, **more})


def test_where_an_account_stands_follows_what_people_do(workspace, monkeypatch):
    desk = Desk(workspace)
    monkeypatch.setattr(Desk, "now", lambda _desk: LATER)
    suspects = population(desk, Span()).frame.filter(state="review")["actor"].to_list()
    watched, limited, cleared, rehearsed, other = suspects[:5]
    work = workspace.ledger
    with work.writing("me", LATER) as writing:
        writing.add([decided(limited, "limit", 2), decided(limited, "watch", 1)])
        writing.add([decided(rehearsed, "limit", 2, rehearsal=True)])
        writing.add([Protected(other, LATER + timedelta(days=1), "me", "streamer", LATER)])
        writing.add([Appeal("a1", other, None, LATER, "player", "no")])
        writing.add([Suspicion(watched, 1.0, 1, LATER, LATER)])
    for rater in ("ann", "bob"):
        vote(work, cleared, bot=False, by=rater, at=LATER)
        vote(work, watched, bot=True, by=rater, at=LATER)

    frame = population(desk, Span()).frame
    state = dict(frame.select("actor", "state").rows())
    assert [state[actor] for actor in (watched, limited, cleared, rehearsed)] == [
        "watching",
        "actioned",
        "dismissed",
        "review",
    ]
    one = frame.filter(actor=other).to_dicts()[0]
    assert (one["protected"], one["appeal"], one["votes"]) == (True, True, 0)
    assert frame.filter(actor=limited)["step"].to_list() == ["limit"]
    assert frame.filter(actor=cleared)["votes"].to_list() == [2]


def test_a_decision_that_is_over_no_longer_counts(workspace, monkeypatch):
    desk = Desk(workspace)
    monkeypatch.setattr(Desk, "now", lambda _desk: LATER)
    suspect = population(desk, Span()).frame.filter(state="review")["actor"][0]
    with workspace.ledger.writing("me", LATER) as work:
        work.add([decided(suspect, "limit", 2)])
    assert population(desk, Span()).frame.filter(actor=suspect)["state"].to_list() == ["actioned"]

    monkeypatch.setattr(Desk, "now", lambda _desk: LATER + timedelta(days=2))

    assert population(desk, Span()).frame.filter(actor=suspect)["state"].to_list() == ["review"]


def test_what_a_run_has_written_is_seen_at_once(workspace):
    desk = Desk(workspace)
    before = population(desk, Span())
    events = rich_made_up.rich_events()
    late = events.filter(pl.col("at").dt.day() == 2, actor="bot002").with_columns(actor=pl.lit("newcomer"))
    write_table(late, workspace.root / "logs" / "late.parquet")

    run_all(workspace)

    assert "newcomer" not in before.frame["actor"]
    assert "newcomer" in population(desk, Span()).frame["actor"]


def test_nothing_is_found_twice_while_nothing_changed(at_rest, monkeypatch):
    desk = Desk(at_rest)
    monkeypatch.setattr(Desk, "now", lambda _desk: LATER)

    assert population(desk, Span()) is population(desk, Span())
    assert population(desk, Span(1)).frame.height <= population(desk, Span()).frame.height


def test_whoever_asks_while_a_slow_answer_is_found_anew_gets_the_one_before():
    made, latest = [], Latest(patience=-1.0)

    def slow(value):
        return lambda: made.append(value) or value

    assert latest.of(1, slow("first")) == "first"
    assert latest.of(2, slow("second")) == "first"
    while made != ["first", "second"]:
        pass
    assert latest.of(2, slow("never")) in {"first", "second"}


def test_a_workspace_that_was_never_run_has_nobody(workspace):
    shutil.rmtree(workspace.results / "desk")
    desk = Desk(workspace)

    assert judged_days(desk) == ()
    assert population(desk, Span()).frame.height == 0
    assert population(desk, Span(7)).drawn.shape == (0, 0)
