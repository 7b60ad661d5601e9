"""A package that adds a feature, a detector and a reader, as somebody would install it: no fork of gamewarden."""

import json
import os
import random
import subprocess
import sys
import sysconfig
import venv
from datetime import UTC, datetime, timedelta

import pytest

import commands
import plugins
from paths import ROOT, SUPPORT

pytestmark = pytest.mark.integration

OFFERS = "gamewarden-longest-silence 1.0"
FIRST = datetime(2026, 3, 2, tzinfo=UTC)


def write_play(place):
    """Two days and a bit of 24 accounts, every third a bot that never pauses; a log, the same in ticks, and labels."""
    dice, lines, labels = random.Random(7), [], []  # noqa: S311  play, no secret
    for number in range(24):
        bot = number % 3 == 0
        actor = f"{'bot' if bot else 'human'}{number:02}"
        labels.append(f"{actor},{str(bot).lower()}")
        at = FIRST + timedelta(seconds=dice.randrange(600))
        while at < FIRST + timedelta(days=2, hours=1):
            lines.append((at, actor))
            pause = dice.uniform(3600, 20000) if not bot and dice.random() < 0.1 else dice.randrange(300, 1200)
            at += timedelta(seconds=round(pause))
    lines.sort()
    log = "".join(f"{actor},{at:%Y-%m-%dT%H:%M:%SZ},combat.kill\n" for at, actor in lines)
    ticks = "".join(f"{actor} {round(at.timestamp()) * 10} combat.kill\n" for at, actor in lines)
    (place / "log.csv").write_text("actor,at,kind\n" + log)
    (place / "log.ticks").write_text(ticks + "smudged line here\n")
    (place / "labels.csv").write_text("actor,bot\n" + "\n".join(labels) + "\n")


def install(wheel, target):
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", target, wheel]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a fresh environment `env`, into which the built wheel of tests/plugin was installed."""
    place = tmp_path_factory.mktemp("plugin")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, plugins.PLUGIN]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(place / "env", with_pip=False)
    target = place / f"env/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    install(next(place.glob("*.whl")), target)
    (target / "shared.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n")
    write_play(place)
    return place


def told(place, *lines, also=()):
    """What commands say in the environment, with more packages on its path."""
    asked = [line.split() for line in lines]
    path = os.pathsep.join(map(str, (SUPPORT, *also)))
    ended = subprocess.run(
        [place / "env/bin/python", SUPPORT / "installed_commands.py"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [commands.Ended(**one) for one in json.loads(ended.stdout)]


SHELF = "--models models"
COMMANDS = {
    "measure help": "measure --help",
    "fit help": "fit --help",
    "options": "fit longest-silence --help",
    "lint": "lint log.csv",
    "measure options": "measure silence --help",
    "measure": "measure silence log.csv --json",
    "fit": "fit longest-silence log.csv --labels labels.csv --to models",
    "score": f"score log.csv {SHELF} --json",
    "rank": f"rank log.csv {SHELF} --probability 0.2 --html rank.html",
    "explain": f"explain bot00 log.csv {SHELF}",
    "judge": f"judge log.csv {SHELF} --json",
    "list": f"model list {SHELF}",
    "show": f"model show longest-silence {SHELF}",
    "show json": f"model show longest-silence {SHELF} --json",
    "evaluate": "evaluate log.csv --labels labels.csv --detector longest-silence --json",
    "lint ticks": "lint log.ticks",
    "read": "read log.ticks --to lake --json",
    "read again": "read log.ticks --to lake --json",
    "measure ticks": "measure silence log.ticks --json",
    "measure lake": "measure silence lake --json",
    "score ticks": f"score log.ticks {SHELF} --json",
    "packets": "measure traffic log.ticks",
    "fit account-day": "fit account-day log.csv --labels labels.csv --to others",
}


@pytest.fixture(scope="module")
def said(place):
    """What every command says with the package installed, by a short name."""
    answers = dict(zip(COMMANDS, told(place, *COMMANDS.values()), strict=True))
    assert [answer.stderr for name, answer in answers.items() if answer.returncode != (name == "packets")] == []
    return answers


def rows(answer):
    return json.loads(answer.stdout)


def test_the_feature_and_the_detector_stand_in_the_help_with_their_sentences(said):
    assert "  silence          One row per actor and period: its longest silence." in said["measure help"].stdout
    assert "  longest-silence    How long an account falls silent" in said["fit help"].stdout
    assert said["measure help"].stderr == said["fit help"].stderr == ""


def test_the_help_of_a_part_says_its_options_as_they_are_typed_and_who_offers_it(said):
    for name, part in (("measure options", "feature family"), ("options", "detector")):
        assert "--every SPAN              Length of one period.  [default: 1d]" in said[name].stdout
        assert f"This {part} is offered by {OFFERS}." in said[name].stdout


def test_lint_says_that_the_detector_can_work_and_whose_it_is(said):
    assert f"Detector: longest-silence (of {OFFERS}) gets all it needs." in said["lint"].stdout


def test_the_feature_is_measured(said):
    (row,) = (row for row in rows(said["measure"]) if row["actor"] == "bot00" and row["since"].startswith("2026-03-02"))

    assert row["events"] == 119
    assert 1000 < row["longest_silence_s"] < 1200


def test_the_detector_is_fitted_and_scores_bots_above_all_people(said):
    scores = [row for row in rows(said["score"]) if row["probability"] is not None]
    sides = {side: [row["probability"] for row in scores if row["actor"].startswith(side)] for side in ("bot", "human")}

    assert len(scores) == 48
    assert {row["detector"] for row in scores} == {"longest-silence"}
    assert min(sides["bot"]) > max(sides["human"])


def test_rank_lists_the_bots_with_the_words_of_the_feature(said, place):
    listed = [line.split()[0] for line in said["rank"].stdout.splitlines()[1:]]
    page = (place / "rank.html").read_text()

    assert sorted(listed) == [f"bot{number:02}" for number in range(0, 24, 3)]
    assert "have in common: Pauses less than nearly all humans (8 of 8)" in said["rank"].stderr
    assert "Pauses less than nearly all humans" in page


def test_explain_speaks_in_the_words_of_the_feature_with_units_and_topics(said):
    lines = said["explain"].stdout.splitlines()
    pauses = next(at for at, line in enumerate(lines) if line.startswith("Its pauses: speaks for a bot"))

    assert lines[pauses + 1].startswith("  + Pauses less than nearly all humans: at most 1,")
    assert " s, a typical human up to 17,178 s (no human in training was that far down)." in lines[pauses + 1]
    assert any(line[4:].startswith("Silences is ") for line in lines)
    assert "1 row is not scored" in said["explain"].stderr


def test_judge_and_evaluate_know_the_detector(said):
    assert {row["actor"] for row in rows(said["judge"]) if (row["probability"] or 0) > 0.5} == {
        f"bot{number:02}" for number in range(0, 24, 3)
    }
    assert "one family of features, silence, and the FPR is longest-silence's" in said["judge"].stderr
    assert {row["auc"] for row in rows(said["evaluate"]) if row["detector"] == "longest-silence"} == {1.0}


def test_the_card_of_its_model_says_who_offers_the_detector_and_the_feature(said):
    card = json.loads(said["show json"].stdout)

    assert f"- a detector of {OFFERS}\n" in said["show"].stdout
    assert f"- package: {OFFERS}\n" in said["show"].stdout
    assert "every: 1d" in said["show"].stdout
    assert (card["offered_by"], card["needs"]["package"]) == (OFFERS, OFFERS)
    assert card["id"] in said["list"].stdout


def test_a_detector_of_gamewarden_itself_credits_nobody(said, place):
    (model,) = (place / "others").glob("account-day@*.json")

    assert "package" not in said["fit account-day"].stdout
    assert "offered_by" not in model.read_text()


def test_the_reader_is_asked_for_its_files_and_a_bad_row_is_counted(said):
    assert said["lint ticks"].stdout.startswith(f"log.ticks: events, read by ticks (of {OFFERS}).\n")
    assert "Suspicious: 1 row left out: no time that can be read, first row 3,385\n" in said["lint ticks"].stdout
    assert rows(said["measure ticks"]) == rows(said["measure lake"]) == rows(said["measure"])
    assert rows(said["score ticks"]) == rows(said["score"])


def test_a_lake_takes_the_reader_s_rows_once(said):
    assert (rows(said["read"])[0]["new"], rows(said["read again"])[0]["new"]) == (3384, 0)


def test_a_file_of_the_reader_is_refused_as_what_it_is_not_in_one_line(said):
    assert said["packets"].returncode == 1
    assert said["packets"].stderr == (
        "gamewarden: log.ticks: is a file of ticks; packets are read from a capture or a packet log\n"
    )


def test_a_model_whose_package_is_gone_names_the_package_to_install(said, place):
    assert said["fit"].returncode == 0
    for line in ("score log.csv", "rank log.csv", "explain bot00 log.csv", "model show longest-silence"):
        gone = commands.run(*line.split(), "--models", "models", cwd=place)
        assert gone.returncode == 1
        assert "is of the detector 'longest-silence', which no installed package offers; install" in gone.stderr
        assert "install gamewarden-longest-silence, which offered it when the model was fitted\n" in gone.stderr
    listed = commands.done("model", "list", "--models", "models", cwd=place)
    assert "install gamewarden-longest-silence" in listed.stdout


BROKEN = """[gamewarden.features]
torn = torn_package:Feature
activity = torn_package.fine:Feature
[gamewarden.detectors]
torn = torn_package:Detector
account-day = torn_package.fine:Detector
longest-silence = torn_package.fine:Detector
homeless = torn_package_fine:Homeless
[gamewarden.readers]
torn = torn_package:Reader
puzzled = torn_package_fine:Puzzled
"""
FINE = """
class Homeless:
    name, says, sees = "homeless", "Sees what nobody offers.", "nothing"


class Puzzled:
    @staticmethod
    def matches(locator):
        raise KeyError("no idea")
"""


@pytest.fixture(scope="module")
def torn(place, said):
    """What commands say beside a package that cannot be imported and offers names that are taken."""
    del said  # its models are what is scored
    broken = place / "broken"
    meta = broken / "torn_package-2.0.dist-info"
    meta.mkdir(parents=True)
    (broken / "torn_package.py").write_text("raise RuntimeError('no licence\\nfound')\n")
    (broken / "torn_package_fine.py").write_text(FINE)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: torn-package\nVersion: 2.0\n")
    (meta / "entry_points.txt").write_text(BROKEN)
    lines = {
        "help": "--help",
        "measure help": "measure --help",
        "fit help": "fit --help",
        "measure": "measure self-similarity log.csv --json",
        "lint": "lint log.csv",
        "score": "score log.csv --models others --json",
        "judge": "judge log.csv --models others --json",
        "fit": "fit account-day log.csv --labels labels.csv --to others",
        "torn": "fit torn log.csv --labels labels.csv --to others",
        "torn feature": "measure torn log.csv",
        "disputed": "model show longest-silence --models models",
        "evaluate": "evaluate log.csv --labels labels.csv --detector account-day --json",
    }
    return dict(zip(lines, told(place, *lines.values(), also=(broken,)), strict=True))


TORN = "of torn-package 2.0 cannot be loaded (RuntimeError: 'no licence\\nfound'); repair or uninstall that package"


def test_a_broken_package_never_breaks_a_command_that_does_not_ask_for_it(torn):
    for name, answer in torn.items():
        assert answer.returncode == (name in ("torn", "torn feature", "disputed")), (name, answer.stderr)
        assert "Traceback" not in answer.stderr
    assert "  self-similarity " in torn["measure help"].stdout
    assert "  torn" not in torn["measure help"].stdout + torn["fit help"].stdout
    assert torn["help"].stderr == ""


def test_a_broken_package_is_said_in_one_line_each_where_its_part_would_have_been_asked(torn):
    remarks = torn["measure"].stderr.splitlines()

    assert f"reader 'torn' {TORN}" in remarks
    assert "reader puzzled (of torn-package 2.0) cannot say whether it knows this (KeyError: \"'no idea'\")" in remarks
    assert f"measure torn is left out: feature family 'torn' {TORN}" in torn["measure help"].stderr.splitlines()
    assert f"detector 'torn' {TORN}" in torn["lint"].stderr.splitlines()
    assert "detector homeless (of torn-package 2.0) is left out: feature family 'nothing' is unknown" in (
        torn["lint"].stderr
    )


def test_a_name_that_is_gamewarden_s_own_stays_its_own(torn):
    assert (
        "torn-package 2.0 offers the feature family 'activity', which is gamewarden's own and stays so; uninstall that "
        "package, or give its part another name"
    ) in torn["measure help"].stderr.splitlines()
    assert {row["detector"] for row in rows(torn["score"])} == {"account-day"}


def test_a_name_that_two_packages_offer_is_nobody_s_until_one_is_gone(torn):
    assert "gamewarden-longest-silence 1.0 and torn-package 2.0 both offer the detector 'longest-silence'" in (
        torn["disputed"].stderr
    )
    assert torn["disputed"].stderr.endswith("both offer the detector 'longest-silence'; uninstall one of them\n")
    assert "  longest-silence" not in torn["fit help"].stdout


def test_whoever_asks_for_a_broken_part_by_name_is_refused_in_one_line(torn):
    assert torn["torn"].stderr.splitlines()[-1] == f"gamewarden: detector 'torn' {TORN}"
    assert torn["torn feature"].stderr.splitlines()[-1] == f"gamewarden: feature family 'torn' {TORN}"
