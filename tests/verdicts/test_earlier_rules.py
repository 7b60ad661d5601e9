"""Verdicts that were sealed before their rules named the combination of families and the rule of rates."""

import json
import shutil
from pathlib import Path

import pytest

from commands import run
from gamewarden import pipeline
from gamewarden.errors import ConfigError
from gamewarden.pipeline.documents import VerifyOptions
from gamewarden.store.verdict_days import VerdictDays
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.workspace.proving import verify_days
from paths import GOLDEN

GOLDEN = GOLDEN / "sealed_under_earlier_rules"
DOCUMENT = GOLDEN / "verdict@88fa60cd22edf8e6bfeddbb2.json"
ANYWHERE = Path("models")  # nothing is scored again, so that no model is needed


@pytest.fixture
def days(tmp_path):
    shutil.copytree(GOLDEN / "verdicts", tmp_path / "verdicts")
    return VerdictDays(tmp_path / "verdicts")


def test_a_day_sealed_under_earlier_rules_holds_and_says_so(days):
    told = verify_days(days, ANYWHERE).row(0, named=True)

    assert told["holds"]
    assert "sealed under earlier rules" in told["says"]


def test_verify_ends_with_0_for_a_workspace_with_such_a_day(days, tmp_path):
    (tmp_path / "warden.toml").write_text('[[source]]\nname = "game"\nlocator = "logs/*.parquet"\n')
    (tmp_path / "results").mkdir()
    days.directory.rename(tmp_path / "results" / "verdicts")

    ended = run("--workspace", tmp_path, "verify", "--json")

    assert ended.returncode == 0, ended.stderr
    assert "sealed under earlier rules" in json.loads(ended.stdout)[0]["says"]


@pytest.mark.parametrize("name", ["verdicts.parquet", "scores.parquet", "evidence.parquet", "day.json"])
def test_such_a_day_whose_bytes_were_changed_does_not_hold(days, name):
    (seal,) = days.seals()
    path = days.directory / seal.bundle / name
    path.write_bytes(path.read_bytes() + b"\n")

    told = verify_days(days, ANYWHERE).row(0, named=True)

    assert not told["holds"]
    assert told["says"] == f"{name} is not what was sealed"


def test_a_document_of_such_a_verdict_holds_and_a_changed_one_does_not(tmp_path):
    told = pipeline.verify([DOCUMENT], VerifyOptions(ANYWHERE)).row(0, named=True)
    changed = tmp_path / DOCUMENT.name
    changed.write_text(DOCUMENT.read_text().replace('"agree":2', '"agree":1', 1))

    assert told["holds"]
    assert told["says"] == "the document is whole; sealed under earlier rules, so it is not scored again"
    assert changed.read_text() != DOCUMENT.read_text()
    assert not pipeline.verify([changed], VerifyOptions(ANYWHERE))["holds"].item()


def test_rules_name_the_combination_and_the_rates_and_without_names_are_earlier_ones():
    rules = VerdictRules(points=OperatingPoints(bots=SUPPOSED.bots))
    values = json.loads(json.dumps(rules.values()))
    unnamed = {name: value for name, value in values.items() if name not in {"combination", "rates"}}

    assert (values["combination"], values["rates"]) == ("ruger", "style-share")
    assert VerdictRules.of(values) == rules
    assert not rules.earlier
    assert VerdictRules.of(unnamed).earlier
    with pytest.raises(ConfigError, match=r"'later'.* are unknown here; use the version"):
        VerdictRules.of({**values, "combination": "later"})
