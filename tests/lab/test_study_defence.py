"""The study of defences, in small: the same verdicts under every policy, and nobody banned but by a person."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gamewarden.lab.studies import defence
from gamewarden.lab.studies.defence_policies import LIMITED, Fate, GameMaster, ban_by_list, graded, settings
from gamewarden.lab.studies.defence_timing import Timing, accounts_lost, information, leak
from gamewarden.lab.studies.defence_world import Player, population
from gamewarden.policy import CHALLENGE, FREEZE, LIMIT

pytestmark = pytest.mark.nightly

ACCOUNTS, DAYS, TEACHERS = 60, 9, 240
LAX = 0.05  # an FPR that the few people who taught can show
START = datetime(2015, 8, 24, tzinfo=UTC)
HOUR = timedelta(hours=1)
NEVER_WRONG = GameMaster(catches=1.0, mistakes=0.0)
SLOW = settings(LAX, 2, tau=defence.SLOW_TAU)


@pytest.fixture(scope="module")
def world():
    return population(ACCOUNTS, DAYS, seed=5, teachers=TEACHERS).at(LAX, 1)


@pytest.fixture(scope="module")
def lax():
    """Settings under which the few people who taught are enough for steps."""
    return settings(LAX, 1, tau=defence.SLOW_TAU)


@pytest.fixture(scope="module")
def study(world):
    return defence.study_of([defence.run_of(world)])


def stopped(replay):
    return [one for one in replay.fates if one.stopped is not None]


def test_nobody_who_is_judged_has_taught(world):
    judged = {one.actor for one in world.players}

    assert len(judged) == ACCOUNTS
    assert judged.isdisjoint(world.taught)
    assert set(world.verdicts["actor"]) <= judged
    assert len(world.taught) == TEACHERS


def test_bots_set_up_over_time_and_nothing_is_known_of_them_before(world):
    arrivals = {one.actor: one.arrives for one in world.players}
    early = [row["actor"] for row in world.verdicts.iter_rows(named=True) if row["day"] < arrivals[row["actor"]]]

    assert not early
    assert len({one.arrives for one in world.players if one.bot}) > 1
    assert {one.arrives for one in world.players if not one.bot} == {0}
    assert all(min(one.gold, default=DAYS) >= one.arrives for one in world.players)


def test_every_policy_is_replayed_on_the_same_verdicts(world):
    before = world.verdicts.clone()
    run = defence.run_of(world)

    assert all(replay.population is world for replay in run.replays.values())
    assert_frame_equal(world.verdicts, before)
    assert set(run.replays) == set(defence.POLICIES)


def test_a_replay_comes_out_the_same_again(world, lax):
    one, two = graded(world, "", config=lax), graded(world, "", config=lax)

    assert one.fates == two.fates


@pytest.mark.parametrize("policy", defence.COMPARED)
def test_without_a_persons_mistake_no_human_is_banned_even_if_the_models_go_mad(world, policy):
    replay = defence.POLICIES[policy](world.gone_mad(0, LAX), LAX, 2, replace(NEVER_WRONG, a_day=100))

    assert replay.reviews > 0
    assert not any(one.mistaken for one in replay.fates)
    assert all(one.player.bot for one in stopped(replay))


@pytest.mark.parametrize("policy", defence.COMPARED)
def test_with_a_person_who_is_always_wrong_people_are_banned_so_that_it_could_be_seen(world, policy):
    wrong = GameMaster(mistakes=1.0, a_day=100)
    replay = defence.POLICIES[policy](world.gone_mad(0, LAX), LAX, 2, wrong)

    assert any(one.mistaken for one in replay.fates)


@pytest.mark.parametrize("policy", defence.POLICIES)
def test_nobody_is_stopped_whom_no_game_master_looked_at(world, policy):
    replay = defence.POLICIES[policy](world, LAX, 1, NEVER_WRONG)

    assert all(one.looks > 0 for one in stopped(replay))
    assert replay.reviews == sum(one.looks for one in replay.fates)


def test_a_game_master_looks_at_no_more_than_there_is_time_for(world, lax):
    replay = graded(world.gone_mad(0, LAX), "", GameMaster(a_day=2), config=lax)

    assert 0 < replay.reviews <= 2 * DAYS


def test_whoever_is_stopped_does_nothing_from_then_on(world, lax):
    replay = graded(world, "", NEVER_WRONG, config=lax)
    late = ban_by_list(world, "", 1, NEVER_WRONG)

    assert stopped(late)
    for one in (*stopped(replay), *stopped(late)):
        played = sum((end - begin) / HOUR for begin, end in one.player.play(START, one.stopped) if begin >= world.start)
        assert one.hours <= played + 1e-6
        assert max(one.gold, default=0) <= (one.stopped - world.start).days


def test_gold_is_handed_on_held_or_lost_and_never_made(study):
    for replay in study.runs[0].replays.values():
        for one in replay.fates:
            possible = sum(one.player.gold.values())
            got = sum(one.gold.values())
            assert got + one.held + one.lost <= possible + 1e-6
            if one.stopped is None:
                assert got + one.held + one.lost == pytest.approx(possible)


def test_only_the_ladder_asks_and_limits(study):
    replays = study.runs[0].replays

    for name in (defence.LATE, defence.AT_ONCE):
        assert not any(one.challenges or one.hours_under for one in replays[name].fates)


def test_the_ladder_limits_and_asks_where_evidence_carries_it(world, lax):
    replay = graded(world, "", config=lax)
    bots = [one for one in replay.fates if one.player.bot]

    assert any(LIMIT in one.hours_under for one in bots)
    assert any(one.challenges and CHALLENGE in one.hours_under for one in bots)
    assert all(one.passed <= one.challenges for one in replay.fates)


def test_models_gone_mad_reach_people_through_the_ladder_and_a_person_alone_through_lists(world):
    mad = world.gone_mad(0, LAX)
    ladder, listed = graded(mad, "", NEVER_WRONG, config=SLOW), ban_by_list(mad, "", 1, NEVER_WRONG, config=SLOW)

    assert sum(one.reacted is not None for one in ladder.fates if not one.player.bot) > ACCOUNTS / 4
    assert not any(one.reacted for one in listed.fates if not one.player.bot)


def bot(gold=24.0):
    """Plays a whole day."""
    sessions = ((START, START + 24 * HOUR),)
    return Player("u0000001", "farmer", True, "alone", 0, sessions, {0: gold}, {0: 24.0})


def test_limits_cost_a_share_and_what_is_frozen_gets_out_with_the_freeze():
    fate = Fate(bot())
    fate.live(0, START, START + 6 * HOUR, [LIMIT])
    fate.live(0, START + 6 * HOUR, START + 18 * HOUR, [FREEZE])

    assert fate.gold == {0: pytest.approx(6 * (1 - LIMITED))}
    assert fate.held == pytest.approx(12)

    fate.live(0, START + 18 * HOUR, START + 24 * HOUR, [])

    assert fate.gold == {0: pytest.approx(6 * (1 - LIMITED) + 18)}
    assert fate.held == 0
    assert fate.hours_under == {LIMIT: pytest.approx(6), FREEZE: pytest.approx(12)}


def test_a_ban_keeps_what_is_frozen():
    fate = Fate(bot())
    fate.live(0, START, START + 6 * HOUR, [FREEZE])
    fate.ban(START + 6 * HOUR)

    assert not fate.gold
    assert not fate.mistaken
    assert fate.reacted == fate.stopped


def test_what_always_follows_at_once_tells_all_and_what_has_nothing_to_do_with_it_nothing():
    days = np.repeat(np.arange(14), 10)
    dice = np.random.default_rng(3)

    assert information(days, days)[0] == pytest.approx(1)
    assert information(days, dice.permutation(days))[0] < 0.1
    assert information(days, days // 7)[0] == pytest.approx(np.log2(2) / np.log2(14), abs=0.05)


def test_longer_waves_cost_an_author_more_accounts():
    at_once = accounts_lost(Timing([0.02]))
    week = accounts_lost(Timing([0.0, 1.0, 2.0, 4.0], "7d"))
    fortnight = accounts_lost(Timing([0.0, 1.0, 2.0, 4.0], "14d"))

    assert at_once == 1
    assert at_once < week < fortnight


def test_of_few_pairs_nothing_is_said():
    assert leak("", [1.0, 2.0], [1.0, 2.0]).known is None


def test_the_tables_have_a_row_per_figure_family_and_helper(study):
    figures = study.frame["figure"].to_list()

    assert study.frame.columns[0] == "figure"
    assert set(defence.POLICIES) <= set(study.frame.columns)
    assert figures[0] == "gold that bots handed on"
    assert len(set(figures)) == study.frame.height
    for name in defence.POLICIES:
        assert 0 <= study.frame[name][0] <= 1
    tables = dict(study.more)
    assert all(isinstance(frame, pl.DataFrame) and frame.height for frame in tables.values())
    helpers = next(frame for title, frame in tables.items() if "who answers" in title)
    assert helpers["bots"].sum() == sum(one.bot for one in study.runs[0].population.players)


def test_the_pictures_are_drawn(study, tmp_path):
    paths = defence.draw(study, tmp_path)

    assert [path.name for path in paths] == ["defence-gold.png", "defence-people.png", "defence-timing.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
