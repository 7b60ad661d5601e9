"""The data of an account's page: what is known of it, why it is suspected, and why it is not."""

import dataclasses
import json
import shutil
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import workspaces_made_up as made_up
from account_made_up import UNHEARD, WANDERER, desk_of, leaks
from gamewarden.cases import Label, Protected
from gamewarden.desk.account import account, one_in, reasons, word_of
from gamewarden.desk.account_timeline import add_note, timeline
from gamewarden.errors import NotThereError, ReadError, ResponseError
from gamewarden.store.verdict_days import VerdictDays


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return desk_of(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def verdicts(desk):
    return desk.workspace.judged(made_up.LATER).verdicts()


def somebody(verdicts, point):
    """An account and its day at a point."""
    row = verdicts.filter(pl.col("point") == point).sort("fpr", "actor").row(0, named=True)
    return row["actor"], f"{row['since']:%Y-%m-%d}", row


def test_an_account_is_shown_with_the_verdict_that_judge_gives(desk, verdicts):
    actor, day, row = somebody(verdicts, "watch")

    shown = account(desk, actor, day)

    assert shown.day == day
    told = shown.judged.verdict
    for name in ("probability", "fpr", "agree", "streak", "covered", "far", "point", "verdict"):
        assert getattr(told, name) == row[name], name
    assert told.one_in == one_in(row["fpr"])
    assert shown.judged.bots == desk.workspace.config.population.bots
    assert [one.day for one in shown.days] == sorted((one.day for one in shown.days), reverse=True)
    assert {one.verdict for one in shown.days} == set(verdicts.filter(actor=actor)["verdict"])


def test_without_a_day_the_most_suspicious_one_is_shown(desk, verdicts):
    actor, _, _ = somebody(verdicts, "watch")
    mine = verdicts.filter(actor=actor).filter(pl.col("point") == "watch").sort("fpr")

    assert account(desk, actor).judged.verdict.fpr == mine["fpr"][0]


def test_reasons_of_a_kept_verdict_are_the_evidence_that_was_sealed_with_it(desk, verdicts):
    actor, day, _ = somebody(verdicts, "watch")
    seal = desk.workspace.verdicts.current()[f"day={day}"]
    sealed = desk.workspace.verdicts.table(seal, "evidence", actors=[actor])

    shown = account(desk, actor, day).reasons

    assert shown.kept
    facts = [fact for one in shown.detectors for topic in one.topics for fact in topic.facts]
    assert {fact.says for fact in facts} <= set(sealed["says"])
    for one in shown.detectors:
        assert one.model.startswith(f"{one.detector}@")
        weights = [abs(topic.weight) for topic in one.topics]
        assert weights == sorted(weights, reverse=True)


def test_reasons_below_the_line_are_what_explain_says(desk, verdicts):
    actor, day, row = somebody(verdicts, "neither")
    models = desk.workspace.models_in_force()
    scored = desk.workspace.scored(made_up.LATER)
    window = row["since"], row["until"]
    wanted = scored.rows(models[0], scored.measured(models[0], window), [actor])

    shown = reasons(desk, actor, day)

    assert not shown.kept
    first = next(one for one in shown.detectors if one.model == models[0].card.id)
    told = {fact.says for topic in first.topics for fact in topic.facts}
    assert told == set(models[0].explain(wanted)["says"])


def test_it_is_said_what_an_account_below_the_line_misses(desk, verdicts):
    actor, day, row = somebody(verdicts, "neither")

    lacks = account(desk, actor, day).judged.lacks

    missed = next(one for one in lacks if one.kind == "fpr")
    assert (missed.point, missed.seen, missed.needed) == ("watch", row["fpr"], 0.2)
    assert missed.says == f"Its false-positive rate {row['fpr']:.3g} is above {missed.needed:g}."
    assert not [one for one in lacks if one.kind == "agree"], "the point to watch asks for no family"


def test_a_detector_without_anything_to_look_at_is_said_to_be_blind(desk, verdicts):
    only_logged = UNHEARD
    row = verdicts.filter(actor=only_logged)
    day = f"{row['since'][0]:%Y-%m-%d}"

    voices = {one.detector: one for one in account(desk, only_logged, day).judged.voices}

    assert voices["traffic"].why == "blind"
    assert voices["traffic"].fpr is None
    assert voices["account-day"].events


def test_nobody_is_not_there_and_a_day_without_a_verdict_neither(desk, verdicts):
    actor, _, _ = somebody(verdicts, "watch")
    with pytest.raises(NotThereError, match="nothing is known of it"):
        account(desk, "nobody at all")
    for day in ("1999-01-01", "../../etc", "day=2026-03-02"):
        with pytest.raises(NotThereError, match="was not judged on it"):
            account(desk, actor, day)


@pytest.mark.parametrize("point", ["watch", "neither"])
def test_no_score_leaks_to_somebody_who_judges_blind(desk, verdicts, point):
    actor, day, row = somebody(verdicts, point)

    for shown in (
        account(desk, actor, day, blind=True),
        reasons(desk, actor, day, blind=True),
        timeline(desk, actor, blind=True),
    ):
        assert leaks(shown, row) == []
    assert reasons(desk, actor, day, blind=True).detectors


def test_the_order_of_blind_evidence_says_nothing_about_its_weight(desk, verdicts):
    actor, day, _ = somebody(verdicts, "watch")

    shown = reasons(desk, actor, day, blind=True)

    for one in shown.detectors:
        assert [topic.topic for topic in one.topics] == sorted(topic.topic for topic in one.topics)
        for topic in one.topics:
            assert [fact.feature for fact in topic.facts] == sorted(fact.feature for fact in topic.facts)


def test_what_happened_is_told_in_the_order_of_time(desk, verdicts):
    actor, _, _ = somebody(verdicts, "watch")
    at = datetime(2026, 3, 12, tzinfo=UTC)
    with desk.workspace.ledger.writing("mina", at) as work:
        work.add([Label(actor, bot=True, source="review", at=at, by="mina", votes={"mina": True})])
        work.add([Protected(actor, at + timedelta(days=900), "mina", "a known streamer", at)])
    add_note(desk, actor, "mina", "looks odd <script>alert(1)</script>")

    told = timeline(desk, actor)

    kinds = [one.kind for one in told.events]
    assert {"observation", "label", "protected", "note"} <= set(kinds)
    assert [one.at for one in told.events] == sorted((one.at for one in told.events), reverse=True)
    assert told.suspicion
    assert account(desk, actor).labels[-1].votes == {"mina": True}
    assert account(desk, actor).protected.because == "a known streamer"
    assert json.dumps(dataclasses.asdict(told), default=str)


def test_an_empty_note_is_refused(desk):
    for text in ("", "   \n", "x" * 4_001):
        with pytest.raises(ResponseError, match="letters; write 1 to"):
            add_note(desk, "anybody", "mina", text)


def test_a_probability_has_a_word_and_a_rate_has_a_number_of_people():
    words = [word_of(chance) for chance in (None, 0.0, 0.01, 0.1, 0.5, 0.7, 0.95, 0.999)]

    assert words == [
        "",
        "hardly",
        "very-unlikely",
        "unlikely",
        "undecided",
        "likely",
        "very-likely",
        "almost-certainly",
    ]
    assert [one_in(fpr) for fpr in (None, 0.0, 1.0, 0.05, 0.001)] == [None, None, 1, 20, 1000]


def test_verdicts_of_one_account_are_read_at_once_as_they_are_day_by_day(desk):
    store = desk.workspace.verdicts
    days = list(store.current().values())

    for actor in ("bot003", "human030", "nobody", WANDERER):
        one_by_one = [store.table(seal, actors=[actor]).with_columns(day=pl.lit(seal.day)) for seal in days]
        assert_frame_equal(store.of_actor(days, actor), pl.concat(one_by_one), check_column_order=False)


def test_a_damaged_day_is_named(desk, tmp_path):
    shutil.copytree(desk.workspace.verdicts.directory, tmp_path / "verdicts")
    store = VerdictDays(tmp_path / "verdicts")
    days = list(store.current().values())
    path = store.directory / days[1].bundle / "verdicts.parquet"
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(ReadError, match=days[1].bundle):
        store.of_actor(days, "bot003")


def test_whoever_judges_blind_reads_no_note_of_others(desk, verdicts):
    actor, _, _ = somebody(verdicts, "watch")
    add_note(desk, actor, "mina", "surely a bot")
    add_note(desk, actor, "ada", "asked on the forum")

    told = timeline(desk, actor, blind=True, reader="ada")

    assert {one.by for one in told.events} == {"ada"}
    assert timeline(desk, actor, blind=True).events == ()
