"""Which days a workspace judges: those with rows, whatever source is silent, and again when models change."""

import json
import shutil
from datetime import timedelta

import polars as pl
import pytest

import workspaces_made_up as made_up
from capture_bytes import pcap, up
from commands import done, run
from gamewarden import pipeline, readers
from gamewarden.tables import write_table
from gamewarden.verdicts.prevalence import SUPPOSED
from gamewarden.workspace.asking import Answers
from gamewarden.workspace.days import day_name
from gamewarden.workspace.intake import take_in
from gamewarden.workspace.judged import NEW, OUTDATED
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Run
from several_made_up import LOG, packets
from upkeep_made_up import START
from workspaces_made_up import LATER, again, run_all

DAYS = ["2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_up.make_models(tmp_path_factory.mktemp("made") / "models-from")


@pytest.fixture
def workspace(made, tmp_path):
    """A workspace that was never run."""
    return made_up.make_workspace(tmp_path / "ws", made)


def steps_of(workspace, **options):
    """One run: every line it said, and how many steps failed."""
    said = []
    failed = Run(workspace, LATER, lambda step: said.append((step.step, step.says)), **options).run()
    return said, failed


def judged_days(workspace):
    return [name.removeprefix("day=") for name in workspace.verdicts.current()]


def due_days(workspace):
    judged = workspace.judged(LATER)
    return [(day_name(one.period, judged.clock).removeprefix("day="), one.reason) for one in judged.due()]


def status_of(workspace):
    return json.loads(done("--workspace", workspace.root, "status", "--json").stdout)


def without_source(workspace, name):
    """The workspace with one source less in its settings."""
    path = workspace.root / "warden.toml"
    head, *sources = path.read_text().split("[[source]]")
    path.write_text("[[source]]".join([head, *(one for one in sources if f'name = "{name}"' not in one)]))
    return again(workspace)


def some_packets(workspace, name, rows):
    write_table(rows, workspace.root / "packets" / f"{name}.parquet")


def test_a_file_in_which_no_window_completes_gives_no_day_to_judge(workspace):
    some_packets(workspace, "short", packets().filter(pl.col("actor") == "bot000").head(60))
    for source in workspace.sources:
        take_in(workspace, source, LATER)
    Answers(workspace).score(SUPPOSED)

    assert due_days(workspace) == [(day, NEW) for day in DAYS]


def test_days_that_a_long_file_leaves_out_are_not_judged(workspace):
    one = packets().filter(pl.col("at") < START + timedelta(days=1))
    shutil.rmtree(workspace.root / "packets")
    (workspace.root / "packets").mkdir()
    some_packets(workspace, "long", pl.concat([one, one.with_columns(pl.col("at") - timedelta(days=30))]).sort("at"))

    run_all(workspace)

    assert judged_days(workspace) == ["2026-01-31", *DAYS]


def test_a_run_says_how_many_days_it_is_about_to_judge_and_why(workspace):
    said, failed = steps_of(workspace)

    assert not failed
    assert next(says for step, says in said if step == "judge") == "4 days to judge: 4 new"
    assert [says for step, says in steps_of(workspace)[0] if step == "judge"] == ["nothing new"]


SILENCES = {
    "packets of two days": lambda workspace: [
        path.unlink() for path in (workspace.root / "packets").iterdir() if path.stem in DAYS[2:]
    ],
    "no packets": lambda workspace: without_source(workspace, "packets"),
    "no account table": lambda workspace: without_source(workspace, "accounts"),
    "a log of two days": lambda workspace: [
        path.unlink() for path in (workspace.root / "logs").iterdir() if path.stem in DAYS[2:]
    ],
}


@pytest.mark.parametrize("name", SILENCES)
def test_a_detector_without_rows_abstains_and_every_day_is_judged_and_verifies(name, workspace):
    SILENCES[name](workspace)

    run_all(again(workspace))

    assert judged_days(workspace) == DAYS
    assert all(one.verdicts for one in workspace.verdicts.current().values())
    assert run("--workspace", workspace.root, "verify").returncode == 0


def test_no_log_at_all_leaves_packets_to_judge(workspace):
    workspace = without_source(workspace, "game")

    run_all(workspace)

    assert judged_days(workspace) == DAYS
    assert run("--workspace", workspace.root, "verify").returncode == 0


@pytest.mark.integration
def test_a_source_that_is_taken_out_of_the_settings_stops_no_day(workspace):
    run_all(workspace)
    workspace = without_source(workspace, "packets")
    late = LOG.events().with_columns(pl.col("at") + timedelta(days=4))
    write_table(late, workspace.root / "logs" / "later.parquet")

    run_all(workspace)

    assert len(judged_days(workspace)) == 8
    (traffic,) = (one for one in status_of(workspace)["detectors"] if one["detector"] == "traffic")
    assert traffic["says"] == "abstains: no packets taken in"


def test_an_account_table_that_is_not_there_fails_its_own_step_alone(workspace):
    (workspace.root / "accounts.csv").unlink()

    said, failed = steps_of(workspace)

    assert failed == 1
    assert judged_days(workspace) == DAYS
    assert ("judge", "4 days to judge: 4 new") in said


def test_a_day_that_cannot_be_judged_does_not_stop_the_next(workspace):
    for source in workspace.sources:
        take_in(workspace, source, LATER)
    Answers(workspace).score(SUPPOSED)
    spoiled = next((workspace.results / "scores").glob(f"account-day@*/day={DAYS[1]}/*.parquet"))
    spoiled.write_bytes(spoiled.read_bytes()[:100])

    said, failed = steps_of(workspace)

    assert failed == 1
    assert judged_days(workspace) == [DAYS[0], *DAYS[2:]]
    (line,) = (says for step, says in said if step == "judge" and "to judge" not in says)
    assert line.startswith("3 days: ")
    assert f"; {DAYS[1]}: " in line
    ended = run("--workspace", workspace.root, "judge")
    assert ended.returncode == 1
    assert f"gamewarden: judge: {DAYS[1]}: " in ended.stderr


def test_a_run_without_any_rows_says_what_is_missing_and_does_not_fail(workspace):
    for name in ("logs", "packets"):
        shutil.rmtree(workspace.root / name)
        (workspace.root / name).mkdir()
    some_packets(workspace, "short", packets().filter(pl.col("actor") == "bot000").head(60))
    workspace = without_source(workspace, "game")

    assert run_all(workspace)["judge"] == (
        "no day to judge: no rows for account-day (no events taken in), "
        "traffic (too little in the packets to measure traffic)"
    )
    assert judged_days(workspace) == []


def test_status_says_since_when_a_source_is_silent(workspace):
    SILENCES["packets of two days"](workspace)
    run_all(workspace)

    found = status_of(workspace)

    says = {one["source"]: one["says"] for one in found["sources"]}
    assert says == {"game": "", "packets": "silent since 2026-03-03 01:14 UTC", "accounts": ""}
    says = {one["detector"]: one["says"] for one in found["detectors"]}
    assert says["traffic"] == "abstains since 2026-03-03 01:14 UTC: no newer packets"
    assert {says[name] for name in says if name != "traffic"} == {""}


def refit_traffic(workspace):
    """Another model of packets, in force from now on."""
    (path,) = workspace.models.glob("traffic@*.json")
    labels = workspace.root / "fewer.csv"
    write_table(pl.read_csv(workspace.labels_file).slice(2), labels)
    recipe = pipeline.trace_recipe("traffic", {"thresholds": False, "tree": "majority"})
    assert pipeline.fit_traces(recipe, [readers.open(packets())], labels, workspace.models).path != path


@pytest.mark.integration
def test_a_newer_model_judges_the_days_again_that_it_has_rows_of_and_keeps_the_earlier_verdicts(workspace):
    SILENCES["packets of two days"](workspace)
    run_all(workspace)
    before = workspace.verdicts.current()
    refit_traffic(workspace)

    found = status_of(workspace)
    assert [one["day"] for one in found["days"] if one["says"] == "judged by earlier models or settings"] == DAYS[:2]
    assert "`gamewarden run` judges 2 days: 2 by newer models or settings" in found["next"]

    said, failed = steps_of(workspace)

    assert not failed
    assert ("judge", "2 days to judge: 2 by newer models or settings") in said
    after = workspace.verdicts.current()
    assert [name for name in after if after[name] != before[name]] == [f"day={day}" for day in DAYS[:2]]
    assert {one.bundle for one in before.values()} < {one.bundle for one in workspace.verdicts.seals()}
    assert run("--workspace", workspace.root, "verify").returncode == 0
    assert steps_of(workspace)[0].count(("judge", "nothing new")) == 1
    assert {one["says"] for one in status_of(workspace)["days"]} == {""}


@pytest.mark.integration
def test_a_fusion_judges_every_day_again_the_new_days_first(workspace):
    run_all(workspace)
    done("--workspace", workspace.root, "fit", "fusion")
    late = LOG.events().filter(pl.col("at") < START + timedelta(days=1)).with_columns(pl.col("at") + timedelta(days=4))
    write_table(late, workspace.root / "logs" / "later.parquet")

    said, failed = steps_of(workspace)

    assert not failed
    assert ("judge", "5 days to judge: 1 new, 4 by newer models or settings") in said
    assert [one.day for one in workspace.verdicts.seals()[4:]] == [
        f"day={day}" for day in ("2026-03-06", *reversed(DAYS))
    ]


@pytest.mark.integration
def test_a_day_that_retention_no_longer_lets_be_judged_keeps_its_verdicts_when_a_model_changes(workspace):
    run_all(workspace)
    before = workspace.verdicts.current()
    workspace = made_up.keep(workspace, events="8d")  # counted from the run: 2026-03-04 is the first day kept
    run_all(workspace)
    done("--workspace", workspace.root, "fit", "fusion")

    said, _ = steps_of(workspace)

    assert ("judge", "2 days to judge: 2 by newer models or settings") in said
    after = workspace.verdicts.current()
    assert [name for name in after if after[name] == before[name]] == [f"day={day}" for day in DAYS[:2]]


def test_a_changed_rule_judges_every_day_again(workspace):
    run_all(workspace)
    path = workspace.root / "warden.toml"
    path.write_text(path.read_text().replace("watch = 0.2", "watch = 0.1"))

    assert {why for _, why in due_days(again(workspace))} == {OUTDATED}


@pytest.fixture
def packets_only(workspace):
    """A workspace of packets alone, with a model of packets alone."""
    for path in workspace.models.glob("*@*.json"):
        if not path.name.startswith("traffic"):
            path.unlink()
    return without_source(without_source(workspace, "game"), "accounts")


def test_where_only_packets_were_judged_rank_and_explain_list_them(packets_only):
    run_all(packets_only)
    low = ("--probability", "0.01")

    listed = json.loads(done("--workspace", packets_only.root, "rank", *low, "--top", "5", "--json").stdout)

    assert len(listed) == 5
    assert all(one["actor"].startswith("bot") and one["periods"] == 4 and one["reasons"] for one in listed)
    told = done("--workspace", packets_only.root, "explain", listed[0]["actor"]).stdout
    assert f"{listed[0]['actor']}, 2026-03-0" in told
    ended = run("--workspace", packets_only.root, "rank", "--level", "3:")
    assert ended.returncode == 1
    assert "no log was taken in" in ended.stderr


def test_before_packets_were_judged_rank_says_that_a_run_judges(packets_only):
    ended = run("--workspace", packets_only.root, "rank")

    assert ended.returncode == 1
    assert "no day to judge: no rows for traffic (no packets taken in)" in ended.stderr


def test_packets_without_a_model_lead_to_fit_traffic(packets_only):
    shutil.rmtree(packets_only.models)
    packets_only.models.mkdir()
    learn = "`gamewarden fit traffic packets/*.parquet` learns a first model of packets from labels"

    assert learn in run_all(packets_only)["models"]
    assert status_of(packets_only)["next"][0] == learn
    for words in (("rank",), ("explain", "bot000")):
        ended = run("--workspace", packets_only.root, *words)
        assert ended.returncode == 1
        assert learn in ended.stderr
    (packets_only.root / "labels.csv").unlink()
    files = sorted((packets_only.root / "packets").iterdir())  # as a shell expands packets/*.parquet
    ended = run("fit", "traffic", *files, cwd=packets_only.root)
    assert "labels.csv" in ended.stderr  # the command lacks nothing else


def test_a_capture_of_any_game_leads_to_fit_traffic_alone(tmp_path):
    (tmp_path / "few.pcap").write_bytes(pcap([up(seq, 20) for seq in range(0, 1200, 20)]))
    lines = ("[workspace]", "[[source]]", 'name = "tap"', 'locator = "few.pcap"', "server_ports = [3724]")
    (tmp_path / "warden.toml").write_text("\n".join(lines))
    workspace = Workspace.at(tmp_path)

    run_all(workspace)

    learn = "`gamewarden fit traffic few.pcap --server-port 3724` learns a first model of packets from labels"
    assert status_of(workspace)["next"] == [learn]


def test_beside_a_log_rank_lists_accounts_that_only_packets_show(workspace):
    bots = packets().filter(pl.col("actor").is_in(["bot001", "bot002"])).with_columns(actor="seen-" + pl.col("actor"))
    some_packets(workspace, "others", bots)
    run_all(workspace)

    ended = done("--workspace", workspace.root, "rank", "--probability", "0.01", "--top", "0", "--json")

    listed = {one["actor"]: one for one in json.loads(ended.stdout)}
    assert listed["seen-bot001"]["reasons"]
    assert listed["bot001"]["self_sim"] > 0
    probabilities = [one["probability"] for one in listed.values()]
    assert probabilities == sorted(probabilities, reverse=True)
