"""The scripted year: what its script says happens, and nothing else does."""

import numpy as np
import polars as pl
import pytest

from gamewarden.errors import ConfigError
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.tabling import actor_id
from gamewarden.lab.world.writing import write_year
from gamewarden.lab.world.year import NOBODY, Script, Year

pytestmark = pytest.mark.integration

YEAR = Year(accounts=100, seed=5)
SCRIPT = YEAR.script
NAMES = [persona.name for persona in PERSONAS]


def events_of(week, year=YEAR):
    columns = ("actor", "at", "kind", "seq")
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in year.week(week).batches(columns)]).with_columns(
        pl.col("actor", "kind").cast(pl.String)
    )


@pytest.fixture(scope="module")
def weeks():
    return {week: events_of(week) for week in (3, 4, SCRIPT.patch, SCRIPT.ban_wave, SCRIPT.holiday[0])}


def there(week):
    return {actor_id(i) for i in np.flatnonzero(YEAR.personas(week) != NOBODY)}


def names(week):
    return {NAMES[code] for code in YEAR.personas(week) if code != NOBODY}


def test_one_seed_gives_one_year(weeks):
    assert events_of(4, Year(accounts=100, seed=5)).equals(weeks[4])


def test_the_same_accounts_play_every_week_and_no_two_weeks_alike(weeks):
    minutes = [weeks[week].group_by("actor").agg(pl.col("at").dt.time().min()).sort("actor") for week in (3, 4)]
    both = minutes[0].join(minutes[1], on="actor")

    assert both.height > 60
    assert (both["at"] != both["at_right"]).mean() > 0.9


def test_events_lie_in_the_day_of_their_week_and_only_of_accounts_that_are_there(weeks):
    for week, events in weeks.items():
        day = YEAR.day(week)
        assert events["at"].min() >= day
        assert (events["at"].max() - day).total_seconds() < 86_400
        assert set(events["actor"]) <= there(week)


def test_the_new_family_is_not_there_before_month_4_and_complete_six_weeks_later():
    before, after = YEAR.personas(SCRIPT.family_from - 1), YEAR.personas(SCRIPT.family_from + SCRIPT.family_weeks)
    family = NAMES.index(SCRIPT.family)

    assert not (before == family).any()
    assert (after == family).sum() == pytest.approx(0.4 * 50, abs=6)
    assert (before[after == family] == NAMES.index(SCRIPT.before)).any()
    assert (before[after == family] == NOBODY).any()


def test_the_patch_brings_kinds_nobody_had_seen_and_takes_others_away(weeks):
    old, new = set(weeks[4]["kind"]), set(weeks[SCRIPT.patch]["kind"])

    assert any(kind.endswith("-ii") for kind in new)
    assert not any(kind.endswith("-ii") for kind in old)
    assert not any(kind.startswith("quest.step.") and not kind.endswith("-ii") for kind in new)


def test_the_ban_wave_takes_six_in_ten_bots_and_no_human_and_others_come_after_it():
    before, after = there(SCRIPT.ban_wave - 1), there(SCRIPT.ban_wave)
    bots = set(YEAR.labels().filter("bot")["actor"])

    assert len(before - after) == round(0.6 * len(before & bots))
    assert before - after <= bots
    assert len(there(SCRIPT.ban_wave + SCRIPT.return_weeks) - after) == 30


def test_people_play_longer_on_a_holiday_and_bots_do_not(weeks):
    bots = YEAR.labels().filter("bot")
    quiet, busy = (
        weeks[week].join(bots, on="actor", how="anti").group_by("actor").len()["len"].median()
        for week in (4, SCRIPT.holiday[0])
    )

    assert busy > 1.25 * quiet


def test_a_newcomer_is_judged_two_weeks_after_it_came():
    late = int(np.flatnonzero(YEAR.lives.comes > 0)[0])
    comes = int(YEAR.lives.comes[late])

    assert actor_id(late) not in set(YEAR.labels(comes + 1)["actor"])
    assert actor_id(late) in set(YEAR.labels(comes + 2)["actor"])


def test_a_year_is_written_a_file_a_week(tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.lab.world.writing.WEEKS", 2)
    write_year(YEAR, tmp_path)

    written = pl.read_parquet(tmp_path / "events-week-01.parquet")
    assert written.columns == ["actor", "character", "at", "seq", "kind", "level", "session"]
    assert pl.read_csv(tmp_path / "labels.csv").height == YEAR.everybody
    assert {path.name for path in tmp_path.iterdir()} == {
        "events-week-00.parquet", "events-week-01.parquet", "labels.csv", "happenings.json", "truth.json",
    }  # fmt: skip


def test_too_few_accounts_are_refused():
    with pytest.raises(ConfigError, match="accounts is 99; it must be at least 100"):
        Year(accounts=99)


def test_the_script_can_be_another_one():
    early = Year(accounts=100, seed=5, script=Script(patch=1))

    assert any(kind.endswith("-ii") for kind in early.week(1).kinds)
