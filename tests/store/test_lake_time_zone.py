"""The time zone of a lake: it comes with the first log, and every command over the lake cuts and shows days by it."""

import json
import shutil
from datetime import datetime, timedelta

import pytest

from commands import done
from gamewarden import api
from gamewarden.notices import now
from gamewarden.store import manifest
from gamewarden.store.lake import Lake
from gamewarden.workspace.intake import take_in
from gamewarden.workspace.place import Workspace

DAYS = 4
BOTS, PEOPLE = 8, 16
MAPPING = '[columns]\nat = "when"\nactor = "who"\nkind = "what"\n\n[time]\nzone = "{zone}"\n'
KINDS = ("combat.kill", "loot.item", "chat.say")


def log(days=DAYS, prefix=""):
    """Bots that play from local midnight for 23.7 hours a day, and people who play for an hour or two."""
    rows = []
    for actor in range(BOTS + PEOPLE):
        is_bot = actor < BOTS
        hour, minutes, step = (0, 1422, 6) if is_bot else (9 + actor % 11, 60 + 7 * (actor % 9), 3 + actor % 4)
        for day in range(days):
            begin = datetime(2026, 3, 2 + day, hour)  # noqa: DTZ001 - a wall clock
            rows += [
                (begin + timedelta(minutes=minute), f"{prefix}{'bot' if is_bot else 'person'}{actor}", minute % 3)
                for minute in range(0, minutes + 1, step)
            ]
    return "when,who,what\n" + "".join(f"{at:%Y-%m-%d %H:%M:%S},{who},{KINDS[n]}\n" for at, who, n in sorted(rows))


def write_log(place, name="log.csv", zone="Asia/Seoul", **which):
    (place / name).write_text(log(**which))
    (place / f"{name}.toml").write_text(MAPPING.format(zone=zone))
    return place / name


def read_log(place, name="log.csv", zone="Asia/Seoul", **which):
    path = write_log(place, name, zone, **which)
    return done("read", path, "--map", f"{path}.toml", "--to", place / "lake")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    place = tmp_path_factory.mktemp("seoul")
    read_log(place)
    labels = [f"bot{n},1\n" for n in range(BOTS)] + [f"person{n},0\n" for n in range(BOTS, BOTS + PEOPLE)]
    (place / "labels.csv").write_text("actor,bot\n" + "".join(labels))
    done("fit", "signs", "lake", "--labels", "labels.csv", "--to", "models", cwd=place)
    return place


def test_rank_judges_whole_local_days_after_the_mapping_is_gone(fitted):
    ended = done("rank", "lake", "--models", "models", "--top", "0", "--probability", "0", "--json", cwd=fitted)

    bots = [row for row in json.loads(ended.stdout) if row["actor"].startswith("bot")]
    assert len(bots) == BOTS
    assert {row["periods"] for row in bots} == {DAYS}
    assert min(row["play_minutes"] / row["periods"] / 60 for row in bots) >= 23
    assert "covers only part of" not in ended.stderr


def test_the_command_that_rank_suggests_gives_the_days_of_the_model(fitted):
    options = ("--map", "log.csv.toml", "--labels", "labels.csv", "--to", "models in utc")
    done("fit", "signs", "log.csv", *options, cwd=fitted)

    seoul, utc = (done("rank", "lake", "--models", one, cwd=fitted).stderr for one in ("models", "models in utc"))

    assert "--time-zone Asia/Seoul` gives the same numbers" in seoul
    assert "--time-zone UTC` gives the same numbers" in utc
    assert "cuts days by UTC, as fitted" in utc


def test_explain_names_local_days(fitted):
    told = done("explain", "bot1", "lake", "--models", "models", cwd=fitted).stdout

    assert [line.split()[0] for line in told.split("All periods\n")[1].split("\n")[:DAYS]] == [
        f"2026-03-0{2 + day}" for day in range(DAYS)
    ]


def test_a_table_for_people_shows_times_in_the_zone_and_one_for_machines_in_utc(fitted):
    shown = done("measure", "activity", "lake", cwd=fitted)
    given = json.loads(done("measure", "activity", "lake", "--json", cwd=fitted).stdout)

    assert shown.stdout.split("\n")[1].split()[1:3] == ["2026-03-02", "2026-03-03"]
    assert "Times are in Asia/Seoul." in shown.stderr
    assert given[0]["since"].startswith("2026-03-01T15:00:00")


def test_an_explicit_zone_or_setting_wins_over_that_of_the_lake(fitted):
    def first(*options):
        return json.loads(done(*options, "--json", cwd=fitted).stdout)[0]["since"][:13]

    (fitted / "berlin.toml").write_text('[read]\ntime_zone = "Europe/Berlin"\n')
    assert first("measure", "activity", "lake", "--time-zone", "UTC") == "2026-03-01T00"
    assert first("--config", "berlin.toml", "measure", "activity", "lake") == "2026-02-28T23"


def test_a_notebook_cuts_the_days_of_a_lake_by_its_zone(fitted):
    table = api.measure(fitted / "lake", "activity")

    assert {at.hour for at in table["since"]} == {15}


def test_a_range_of_dates_begins_at_local_midnight(fitted):
    ended = done("measure", "activity", "lake", "--since", "2026-03-03", "--until", "2026-03-04", "--json", cwd=fitted)

    assert {row["since"][:13] for row in json.loads(ended.stdout)} == {"2026-03-02T15"}


def test_a_second_log_of_another_zone_is_named_once_and_the_lake_keeps_its_own(tmp_path):
    read_log(tmp_path, days=1)
    more = [write_log(tmp_path, f"{name}.csv", "Europe/Berlin", days=1, prefix=name) for name in ("b", "c")]

    ended = done("read", *more, "--map", f"{more[0]}.toml", "--to", tmp_path / "lake")

    assert ended.stderr.count("its times are in Europe/Berlin, and the days of this lake stay in Asia/Seoul") == 1
    assert Lake.time_zone_at(tmp_path / "lake") == "Asia/Seoul"


def test_a_lake_without_a_zone_means_utc_also_when_a_later_log_has_one(tmp_path):
    read_log(tmp_path, days=1)
    path = tmp_path / "lake" / manifest.MANIFEST
    values = json.loads(path.read_text())
    del values["time_zone"]  # as lakes were written before
    path.write_text(json.dumps(values))

    ended = read_log(tmp_path, "b.csv", days=1, prefix="b")

    assert "the days of this lake stay in UTC" in ended.stderr
    assert Lake.time_zone_at(tmp_path / "lake") is None
    told = json.loads(done("measure", "activity", tmp_path / "lake", "--json").stdout)
    assert {row["since"][10:13] for row in told} == {"T00"}


def test_a_workspace_takes_the_zone_of_its_first_source_unless_its_settings_name_one(tmp_path):
    write_log(tmp_path, days=1)
    settings = '[workspace]\n[[source]]\nname = "game"\nlocator = "log.csv"\nmap = "log.csv.toml"\n'
    (tmp_path / "warden.toml").write_text(settings)
    workspace = Workspace.at(tmp_path)
    assert workspace.time_zone is None

    take_in(workspace, workspace.sources[0], now())

    assert workspace.time_zone == workspace.run_options.time_zone == workspace.days().time_zone == "Asia/Seoul"
    (tmp_path / "warden.toml").write_text(f'{settings}[read]\ntime_zone = "Europe/Berlin"\n')
    assert Workspace.at(tmp_path).time_zone == "Europe/Berlin"


def test_status_and_judge_of_a_workspace_show_times_in_its_zone(fitted, tmp_path):
    shutil.copytree(fitted / "models", tmp_path / "models")
    write_log(tmp_path)
    (tmp_path / "later.csv").write_text("when,who,what\n2026-03-08 01:00:00,person9,chat.say\n")
    sources = [
        f'[[source]]\nname = "{name}"\nlocator = "{name}.csv"\nmap = "log.csv.toml"\n' for name in ("log", "later")
    ]
    (tmp_path / "warden.toml").write_text("\n".join(["[workspace]", *sources]))
    done("run", cwd=tmp_path)

    status, judged = done("status", cwd=tmp_path), done("judge", cwd=tmp_path)

    (log_line,) = (line for line in status.stdout.split("\n") if line.startswith("log "))
    assert log_line.split()[3:5] == ["2026-03-05", "23:42:00"]
    assert "silent since 2026-03-05 23:42 Asia/Seoul" in log_line
    assert status.stderr.count("Times are in Asia/Seoul.") == 1
    row = next(line for line in judged.stdout.split("\n") if line.startswith("bot0 "))
    assert row.split()[1:3] == ["2026-03-02", "2026-03-03"]
