"""A first look at a source of which nobody has said who is a bot: whom it lists, by what, and what it says of them."""

from dataclasses import replace

import polars as pl
import pytest

from gamewarden import readers
from gamewarden.config import Config
from gamewarden.detectors.signs.oddness import Oddness, newest_rows
from gamewarden.detectors.signs.population import NO_PROMISE
from gamewarden.errors import ConfigError, FitError, ModelError, ReadError
from gamewarden.features.signs import Signs
from gamewarden.lab.world import World
from gamewarden.pipeline.first_look import (
    KEPT,
    LookOptions,
    draw_odd_story,
    first_look,
    keep_population,
    list_odd,
    looked_at,
    odd_stories,
    population_in,
    refuse_settled,
)
from gamewarden.pipeline.listing import RankOptions
from gamewarden.presentation.odd_story import NOTABLE, how_odd, odd_story_text, rarity, signs_text
from gamewarden.reviewing.evidence import OddEvidence
from gamewarden.tables import FrameEvents
from gamewarden.verdicts.filters import Filter
from gamewarden.verdicts.oddities import alike, list_oddities, usual_zones
from tables_made_up import account_table

WORLD = World("lineage", 60, 2, 5, bots=0.5, society=True)
BLIND = "human001"
ALL = RankOptions.of(Config(), top=0)


@pytest.fixture(scope="module")
def events():
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in WORLD.batches()])


@pytest.fixture(scope="module")
def look(events):
    return first_look(readers.open(events), ALL)


@pytest.fixture(scope="module")
def table():
    """An operator's own table, in which one account shows nothing."""
    told = account_table(40, 50).select("actor", "Playtime", "Social_diversity")
    shown = pl.when(pl.col("actor") != BLIND)
    return readers.open(told.with_columns(shown.then(pl.col(name)).alias(name) for name in told.columns[1:]))


@pytest.fixture(scope="module")
def of_table(table):
    return first_look(table, ALL, LookOptions("actor"))


def wishes(**given):
    return replace(ALL, **given)


@pytest.mark.integration
def test_every_account_is_compared_with_all_by_its_newest_days(look, events):
    learned = Signs().learn(FrameEvents(events)).unweighed()

    rows = newest_rows(learned.measure(FrameEvents(events)))

    assert look.rows.select(rows.columns).equals(rows)
    assert look.model == Oddness(learned).fit(rows)
    assert look.model.players == events["actor"].n_unique() == 60
    assert look.oddness.equals(look.model.score(rows))


def test_a_row_does_not_call_two_measures_of_a_day_play(look):
    told = list_odd(look, ALL).frame

    both = told.join(look.rows.select("actor", "total_use_time_min"), on="actor")
    assert [name for name in told.columns if name.startswith("play_")] == ["play_hours"]
    assert both["online_minutes"].to_list() == both["total_use_time_min"].to_list()
    least = Filter("play_minutes", ">=", ("300",))  # as --play-time asks
    shown = list_odd(look, wishes(filters=(least,))).frame
    assert shown["actor"].to_list() == told.filter(pl.col("online_minutes") >= 300)["actor"].to_list()


def test_the_list_has_everybody_the_oddest_first_with_the_share_and_reasons(look):
    told = list_odd(look, ALL)

    frame = told.frame
    assert frame.height == 60
    assert frame["as_odd"].is_sorted()
    assert frame["oddness"].is_sorted(descending=True)
    assert frame["as_odd"][0] == pytest.approx(1 / 60)
    assert {"play_hours", "days_played", "self_sim", "level", "zone"} <= set(frame.columns)
    assert {"probability", "fpr"}.isdisjoint(frame.columns)
    assert frame["reasons"][:10].null_count() == 0
    assert NO_PROMISE in told.notes
    assert "Not measured of anybody here, and so no sign: day_spread." in told.notes


def test_more_bots_stand_in_the_first_third_than_in_the_last(look):
    bots = WORLD.labels().filter("bot")["actor"]

    listed = list_odd(look, ALL).frame.with_columns(bot=pl.col("actor").is_in(bots.implode()))

    assert listed["bot"][:20].sum() > listed["bot"][-20:].sum() + 5


def test_a_reason_is_what_few_players_show(look):
    """A number as most have it is no reason, in whatever words it speaks."""
    frame = list_odd(look, ALL).frame
    evidence = look.model.explain(look.rows).with_columns(pl.col("says").str.split(":").list.first())

    for actor, reasons in frame.drop_nulls("reasons").select("actor", "reasons").iter_rows():
        heard = evidence.filter(actor=actor)
        for reason in reasons.split("; "):
            assert heard.filter(says=reason.removesuffix("."))["alone"].max() >= NOTABLE, (actor, reason)


def test_the_share_that_the_list_explains_is_one_that_somebody_can_have(look, of_table):
    (small,) = (note for note in list_odd(of_table, ALL).notes if note.startswith("as_odd"))
    many = replace(look, model=replace(look.model, players=12_345))

    (large,) = (note for note in list_odd(many, ALL).notes if note.startswith("as_odd"))

    assert small.startswith("as_odd 0.1 means: 9 of 90 players look at least as odd.")
    assert large.startswith("as_odd 0.01 means: 123 of 12,345 players look at least as odd.")


def test_a_short_list_says_how_many_it_leaves_out(look):
    told = list_odd(look, wishes(top=7))

    assert told.frame.equals(list_odd(look, ALL).frame[:7].with_columns(told.frame["reasons"]))
    assert "53 more are not shown; --top 0 lists all" in told.notes


def test_conditions_choose_whom_the_list_shows(look):
    asked = wishes(filters=(Filter("play_hours", ">=", ("10",)),))

    told = list_odd(look, asked).frame

    everybody = list_odd(look, ALL).frame
    assert 0 < told.height < 60
    assert told["actor"].to_list() == everybody.filter(pl.col("play_hours") >= 10)["actor"].to_list()
    assert told["as_odd"].to_list() == everybody.filter(pl.col("play_hours") >= 10)["as_odd"].to_list()
    nobody = list_odd(look, wishes(filters=(Filter("play_hours", ">", ("25",)),)))
    assert nobody.frame.height == 0
    assert nobody.frame["reasons"].dtype == pl.String


def test_signs_that_are_left_out_are_no_reason(events):
    less = first_look(readers.open(events), ALL, LookOptions(without=("paths", "copies", "flows")))

    assert not {"repeated_way", "same_way", "gave_n"} & {sign.name for sign in less.model.signs}
    assert any("repeated_way" in note for note in less.notes)


def test_who_is_odd_in_the_same_way_at_the_same_place_is_alike(look):
    groups = look.groups()
    zones = dict(usual_zones(look.places).iter_rows())
    heaviest = dict(zip(look.rows["actor"], look.model.heaviest(look.rows), strict=True))

    assert len(groups) == 60
    assert {actor: f"{heaviest[actor]} {zones[actor] or ''}" for actor in groups} == groups


def test_whoever_shows_nothing_odd_is_like_nobody_and_without_zones_nobody_is():
    actors, signs = pl.Series(["a", "b", "c"]), pl.Series(["self_sim", None, "self_sim"])

    assert alike(actors, signs, None) == {}
    zones = pl.DataFrame({"actor": ["a", "c"], "zone": ["Dion", None]})
    assert alike(actors, signs, zones) == {"a": "self_sim Dion", "c": "self_sim "}


def test_whoever_has_no_sign_stands_last_and_is_not_listed(of_table):
    listed = list_oddities(of_table.oddness, of_table.rows)

    assert listed.height == of_table.model.players == 90
    assert listed.filter(pl.col("as_odd").is_null())["actor"].to_list() == [BLIND] == listed["actor"][-1:].to_list()
    assert list_odd(of_table, ALL).frame["actor"].to_list() == listed["actor"][:-1].to_list()


def test_a_table_is_looked_at_by_the_columns_whose_names_say_what_is_odd(of_table):
    frame = list_odd(of_table, ALL).frame

    assert {sign.name: sign.side for sign in of_table.model.signs} == {"Playtime": "high", "Social_diversity": "low"}
    assert of_table.places is None
    assert frame["actor"].str.starts_with("bot")[:20].sum() > 12


@pytest.mark.parametrize("name", ["actor", "Actor", "ACCOUNT", "char_id", "id", "Player"])
def test_the_column_that_names_a_row_is_found_by_its_name(name):
    table = account_table(12, 14).select(pl.col("actor").alias(name), "Playtime", "Social_diversity")

    found = first_look(readers.open(table), ALL)

    assert found.model.feature.options["actor"] == name
    assert found.model.players == 26


def test_a_table_in_which_nobody_is_named_is_refused():
    table = account_table(12, 14).select(pl.col("actor").alias("hero"), "Playtime")

    with pytest.raises(ConfigError, match=r"no column says whose a row is; .* with --actor"):
        first_look(readers.open(table), ALL)
    assert first_look(readers.open(table), ALL, LookOptions("hero")).model.players == 26


def test_a_table_whose_names_say_nothing_odd_is_refused_in_one_line():
    table = account_table(12, 14).select("actor", "ip_count", "Max_level")

    with pytest.raises(ConfigError, match="oddness: nothing in account-table says what is odd in it"):
        first_look(readers.open(table), ALL, LookOptions("actor"))


def test_five_accounts_are_too_few(events):
    few = events.filter(pl.col("actor").is_in(events["actor"].unique().sort()[:5].implode()))

    with pytest.raises(FitError, match="5 players are too few to say who is odd; 20 are needed"):
        first_look(readers.open(few), ALL)


def test_a_population_is_kept_and_later_accounts_are_compared_with_it(look, events, tmp_path):
    path = keep_population(look.model, tmp_path)
    few = events.filter(pl.col("actor").is_in(events["actor"].unique().sort()[:5].implode()))

    later = first_look(readers.open(few), ALL, LookOptions(models=tmp_path))

    assert path == tmp_path / KEPT / f"{look.model.id}.json"
    assert population_in(tmp_path) == look.model == later.model
    assert later.rows.height == 5
    assert later.notes[-1] == f"Compared with 60 players as they were when {look.model.id} was kept."


def test_the_population_that_was_kept_last_counts(look, of_table, tmp_path):
    keep_population(look.model, tmp_path)

    keep_population(of_table.model, tmp_path)

    assert population_in(tmp_path) == of_table.model
    assert population_in(tmp_path / "none") is None


def test_a_damaged_population_is_refused(look, tmp_path):
    path = keep_population(look.model, tmp_path)
    path.write_text(path.read_text().replace('"players": 60', '"players": 61', 1))

    with pytest.raises(ModelError, match="does not fit its sha256"):
        population_in(tmp_path)


def test_a_story_says_how_odd_an_account_is_by_which_topics_and_draws_its_days(look, events):
    oddest = list_odd(look, ALL).frame["actor"][0]

    story = odd_stories(look, [oddest], FrameEvents(events))[oddest]
    text = odd_story_text(story)

    assert text.startswith(
        f"{oddest}, the days up to 2015-08-25\nNone of the other 59 players looks as odd (as_odd 0.0167"
    )
    assert NO_PROMISE in text
    assert ": unusual ●" in text
    assert "As of most players: " in text
    assert "The minutes of its newest day from first to last" in text
    hours = [line for line in text.splitlines() if line.endswith("|")]
    assert [line.split("|")[0].strip() for line in hours] == ["Mon 08-24", "Tue 08-25"]
    assert {len(line.split("|")[1]) for line in hours} == {24}
    assert "human" not in text.replace("Nobody has said who is human yet", "")


def test_the_hours_of_a_story_are_those_at_which_it_did_something(look, events):
    oddest = list_odd(look, ALL).frame["actor"][0]
    story = odd_stories(look, [oddest], FrameEvents(events))[oddest]

    lines = [line for line in signs_text(story).splitlines() if line.endswith("|")]

    at = events.filter(actor=oddest)["at"]
    played = {(moment.strftime("%a %m-%d"), moment.hour) for moment in at.dt.truncate("1h").unique()}
    drawn = {
        (line.split("|")[0].strip(), hour)
        for line in lines
        for hour, sign in enumerate(line.split("|")[1])
        if sign != " "
    }
    assert drawn == played


def test_the_hours_of_a_story_are_those_of_its_time_zone(look, events):
    oddest = list_odd(look, ALL).frame["actor"][0]
    story = odd_stories(look, [oddest], FrameEvents(events))[oddest]

    text = signs_text(replace(story, time_zone="Asia/Seoul"))

    assert "0 to 24 o'clock in Asia/Seoul" in text
    assert "Wed 08-26 |" in text


def test_what_a_rater_sees_says_nothing_of_how_odd_it_is_together(look, events):
    evidence = OddEvidence(look, lambda: FrameEvents(events))
    oddest = list_odd(look, ALL).frame["actor"][0]

    assert "as_odd" not in evidence.story(oddest)
    assert "players looks as odd" not in evidence.story(oddest)
    assert evidence.said(oddest) == "The list: None of the other 59 players looks as odd."


def test_many_stories_are_those_of_each_alone_from_one_reading(look, events):
    actors = list_odd(look, ALL).frame["actor"][:4].to_list()

    class Counted(FrameEvents):
        readings = 0

        def batches(self, columns):
            Counted.readings += 1
            return super().batches(columns)

    together = odd_stories(look, actors, Counted(events))
    once = Counted.readings

    odd_stories(look, actors[:1], Counted(events))
    assert Counted.readings == 2 * once
    alone = odd_stories(look, actors[2:3], FrameEvents(events))[actors[2]]
    assert odd_story_text(together[actors[2]]) == odd_story_text(alone)


def test_an_account_without_any_sign_has_a_story_that_says_so(of_table):
    story = odd_stories(of_table, [BLIND], None)[BLIND]

    assert how_odd(story) == f"{BLIND}\nNothing was measured that could look odd: nothing follows from this."
    assert OddEvidence(of_table, lambda: None).said(BLIND) == "The list says nothing of it."
    assert BLIND not in {one.actor for one in OddEvidence(of_table, lambda: None).candidates()}


def test_a_story_of_a_table_has_no_days_and_nothing_to_draw(of_table, tmp_path):
    story = odd_stories(of_table, ["bot003"], None)["bot003"]

    assert "o'clock" not in odd_story_text(story)
    with pytest.raises(ConfigError, match="there are no windows to draw here; leave --plot out"):
        draw_odd_story(story, tmp_path / "days.png")


def test_nobody_has_no_story(look):
    with pytest.raises(ReadError, match="there is no account 'nobody' here"):
        odd_stories(look, ["u0000001", "nobody"], None)


def test_days_are_shown_by_the_kinds_that_were_learned(look):
    feature = Signs.from_dict(look.model.feature.options)

    assert feature.days.vocabulary == feature.learned.kinds


@pytest.mark.parametrize(
    ("share", "players", "says"),
    [
        (1 / 60, 60, "None of the other 59 players looks as odd"),
        (2 / 60, 60, "2 of 60 players look at least as odd"),
        (1.0, 12_345, "12,345 of 12,345 players look at least as odd"),
    ],
)
def test_a_share_of_players_is_said_as_a_number_of_them(share, players, says):
    assert rarity(share, players) == says


def test_candidates_are_those_with_a_sign_and_labels_add_what_a_model_is_unsure_of(look, events):
    evidence = OddEvidence(look, lambda: FrameEvents(events))
    known = WORLD.labels().sort("actor")[:40].select("actor", "bot", source=pl.lit("review"))

    without, few, enough = evidence.candidates(), evidence.candidates(known[:2]), evidence.candidates(known)

    assert {one.actor: one.as_odd for one in without} == dict(look.oddness.select("actor", "as_odd").iter_rows())
    assert {one.probability for one in (*without, *few)} == {None}
    assert all(0 < one.probability < 1 for one in enough)
    assert [one.group for one in enough] == [look.groups().get(one.actor) for one in enough]


def test_a_log_and_a_table_are_learned_from_by_their_own_detector(look, of_table):
    assert OddEvidence(look, lambda: None).learner == ("signs",)
    assert OddEvidence(of_table, lambda: None).learner == ("table-signs", "--actor", "actor")


def test_rows_that_rest_are_compared_as_those_of_a_source(look, events):
    feature = Signs().learn(FrameEvents(events)).unweighed()

    again = looked_at(feature, feature.measure(FrameEvents(events)))

    assert again.model == look.model
    assert again.oddness.equals(look.oddness)


@pytest.mark.parametrize("asked", [LookOptions("Account"), LookOptions(without=("copies",))])
def test_what_a_kept_population_has_settled_is_refused_in_one_line(look, asked):
    with pytest.raises(ConfigError, match=f"was settled when {look.model.id} was kept; leave it out"):
        refuse_settled(look.model, asked)

    refuse_settled(None, asked)
