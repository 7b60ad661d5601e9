"""Appeals, protection and labels as people type them, in a workspace that has judged and decided."""

import json
import re
import shutil
from datetime import timedelta

import polars as pl
import pytest

from commands import done, run
from gamewarden.cases import Decision, Exonerated, Label, Observation, Suspicion
from gamewarden.config import Config
from gamewarden.desk.account import account, reasons
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged import judged
from gamewarden.desk.overview import overview
from gamewarden.desk.population import Span, population
from gamewarden.desk.review import queue
from gamewarden.errors import NotThereError
from gamewarden.response.evidence import log_odds
from gamewarden.store import model_registry
from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.status import status
from several_made_up import LOG
from workspaces_made_up import LATER, make_models, make_workspace, run_all


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A workspace whose ladder has decided about its bots."""
    place = tmp_path_factory.mktemp("decided")
    workspace = make_workspace(place / "home", make_models(place / "made"))
    run_all(workspace)
    assert workspace.ledger.find(Decision)
    workspace.ledger.close()
    return workspace


@pytest.fixture
def home(decided, tmp_path):
    shutil.copytree(decided.root, tmp_path / "home")
    return Workspace.at(tmp_path / "home")


def at(home, *words):
    return run("--workspace", home.root, *words)


def suspend(home, actor, by="gm"):
    """What a person decides beside the ladder."""
    did(home, "decide", actor, "suspend", "--by", by, "--because", "seen", "--for", "7d")


def did(home, *words):
    return done("--workspace", home.root, *words)


def accused(home):
    """A decision that stands: 26 people are too few to show an FPR that carries more than watching."""
    return next(one for one in home.ledger.find(Decision, undone_at=None, order=("actor", "at")) if one.evidence)


def opened(home, about, text="It was me, and nobody else."):
    return re.search(r"appeal-[0-9a-f]{12}", did(home, "appeal", "open", about, "--text", text).stdout)[0]


def test_the_whole_way_of_an_appeal(home):
    wrong = accused(home)
    suspend(home, wrong.actor)
    name = opened(home, wrong.id)
    listed = json.loads(did(home, "appeal", "list", "--open", "--json").stdout)
    assert [(one["appeal"], one["actor"], one["decision"]) for one in listed] == [(name, wrong.actor, wrong.id)]

    told = did(home, "appeal", "decide", name, "overturned", "--by", "ann", "--because", "she was there").stdout

    assert f"{name} is overturned" in told
    assert json.loads(did(home, "appeal", "list", "--open", "--json").stdout) == []
    assert home.ledger.find(Decision, actor=wrong.actor, undone_at=None) == []
    (now,) = home.ledger.find(Suspicion, actor=wrong.actor)
    assert (now.rung, now.score <= log_odds(Config().response.prior)) == (0, True)
    assert all(one.excluded == name for one in home.ledger.find(Observation, actor=wrong.actor) if one.llr > 0)
    assert [(one.actor, one.bot) for one in home.ledger.find(Label)] == [(wrong.actor, False)]
    assert home.ledger.find(Exonerated)[0].verdicts
    stated = did(home, "appeal", "statement", wrong.id).stdout
    assert "you were right" in stated
    assert "no longer counts" in stated


def test_models_that_accused_wrongly_are_not_promoted_after_it(home):
    wrong = accused(home)
    name = opened(home, wrong.actor)
    did(home, "appeal", "decide", name, "overturned", "--by", "ann", "--because", "she was there")
    model = {one.detector: one.id for one in model_registry.in_force(home.models)}["account-day"]

    ended = at(home, "model", "promote", model, "--because", "again", "--by", "ann")

    assert ended.returncode == 1
    assert f"({wrong.actor})" in ended.stderr


def test_a_refuted_day_that_is_judged_again_does_not_count_against_the_account(home):
    wrong = accused(home)
    name = opened(home, wrong.actor)
    did(home, "appeal", "decide", name, "overturned", "--by", "ann", "--because", "she was there")
    before = {one.id for one in home.ledger.find(Observation, actor=wrong.actor)}
    late = LOG.events().filter(pl.col("actor") == wrong.actor).with_columns(pl.col("at") + timedelta(seconds=7))
    write_table(late, home.root / "logs/late.parquet")

    run_all(Workspace.at(home.root), LATER)

    again = [one for one in home.ledger.find(Observation, actor=wrong.actor) if one.id not in before]
    assert [one.excluded for one in again if one.llr > 0] == [name] * sum(one.llr > 0 for one in again)
    assert any(one.llr > 0 for one in again)
    assert home.ledger.find(Decision, actor=wrong.actor, undone_at=None) == []


def test_whoever_decided_does_not_decide_the_appeal(home):
    wrong = accused(home)
    suspend(home, wrong.actor)
    name = opened(home, wrong.actor)

    ended = at(home, "appeal", "decide", name, "upheld", "--by", "gm", "--because", "I know it")

    assert ended.returncode == 1
    assert "somebody else has to decide" in ended.stderr


def test_an_upheld_appeal_leaves_the_decision(home):
    wrong = accused(home)
    name = opened(home, wrong.actor)

    told = did(home, "appeal", "decide", name, "upheld", "--by", "ann", "--because", "it is a bot").stdout

    assert "the decision stands" in told
    assert wrong in home.ledger.find(Decision, undone_at=None)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("appeal", "open", "nobody", "--text", "x"), 1, "nothing was decided about 'nobody'"),
        (("appeal", "decide", "appeal-0", "upheld", "--by", "ann", "--because", "x"), 1, "there is none"),
        (("appeal", "decide", "appeal-0", "upheld", "--because", "x"), 2, "--by"),
        (("appeal", "decide", "appeal-0", "perhaps", "--by", "ann", "--because", "x"), 2, "upheld"),
        (("appeal", "statement", "nothing"), 1, "there is none"),
        (("appeal", "statement", "nothing", "--language", "de"), 2, "'en', 'ko'"),
        (("protect", "kim", "--for", "90d", "--because", "x"), 2, "--by NAME"),
        (("protect", "kim", "--by", "ann"), 2, "--for 90d"),
        (("protect", "kim", "--end", "--by", "ann"), 1, "is not protected"),
        (("label", "kim", "robot", "--by", "ann"), 2, "'bot', 'human'"),
        (("label", "kim", "bot"), 2, "--by"),
        (("label", "kim", "bot", "--by", "ann", "--source", "model"), 1, "nobody who looked"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(home, words, code, says):
    ended = at(home, *words)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_statement_is_text_json_or_a_page_in_either_language(home, tmp_path):
    wrong = accused(home)

    text = did(home, "appeal", "statement", wrong.id[:8], "--language", "ko").stdout
    values = json.loads(did(home, "appeal", "statement", wrong.id, "--for", "operator", "--json").stdout)
    page = tmp_path / "statement.html"
    did(home, "appeal", "statement", wrong.id, "--html", page)

    assert "이의 제기 방법" in text
    assert values["automated"]
    assert "account-day@" in json.dumps(values)  # the models that judged
    assert wrong.ladder in json.dumps(values)
    assert "How to appeal" in page.read_text()


def test_an_account_is_protected_listed_and_no_longer_protected(home):
    wrong = accused(home)
    did(home, "protect", wrong.actor, "--for", "90d", "--by", "ann", "--because", "a tournament")

    assert [one["actor"] for one in json.loads(did(home, "protect", "--list", "--json").stdout)] == [wrong.actor]
    did(home, "protect", wrong.actor, "--end", "--by", "ann")
    assert json.loads(did(home, "protect", "--json").stdout) == []


def test_labels_of_raters_are_learned_from_beside_the_file(home):
    before = json.loads(did(home, "fit", "account-day", "--to", home.root / "one", "--json").stdout)
    path = home.root / "labels.csv"
    pl.read_csv(path).filter(pl.col("actor") != "human030").write_csv(path)
    without = json.loads(did(home, "fit", "account-day", "--to", home.root / "two", "--json").stdout)

    did(home, "label", "human030", "human", "--by", "ann")
    told = did(home, "label", "human030", "human", "--by", "bob").stdout
    again = json.loads(did(home, "fit", "account-day", "--to", home.root / "three", "--json").stdout)

    humans = [one["training"]["actors"]["human"] for one in (before, without, again)]
    assert told == "human030: 0 of 2 say bot, so it is human\n"
    assert humans == [26, 25, 26]


def test_one_rater_alone_makes_no_person_either_and_a_known_label_asks_for_a_third_one(home):
    assert did(home, "label", "x", "human", "--by", "ann").stdout == "x: 0 of 1 say bot, so it is uncertain\n"
    assert did(home, "label", "bot003", "human", "--by", "ann").stdout == (
        "bot003: 0 of 1 say bot, so it is uncertain\n"
        "bot003: this contradicts what is known of it; a third person decides with `gamewarden review`\n"
    )
    assert "third person: 1 account waits because votes contradict" in did(home, "status").stdout


def test_one_rater_alone_makes_no_bot(home):
    assert did(home, "label", "x", "bot", "--by", "ann").stdout == "x: 1 of 1 says bot, so it is uncertain\n"
    assert did(home, "label", "x", "bot", "--by", "bob").stdout == "x: 2 of 2 say bot, so it is a bot\n"


def overturned(home):
    """An account that the ladder decided about, and that wins its appeal."""
    actor = accused(home).actor
    name = opened(home, actor)
    did(home, "appeal", "decide", name, "overturned", "--by", "ann", "--because", "she was there")
    home.ledger.close()
    return actor


def numbers_of(home, actor):
    """Where the commands show a number about an account."""
    ranked = json.loads(did(home, "rank", "--probability", 0, "--json").stdout)
    scored = json.loads(did(home, "score", "--json").stdout)
    judged = json.loads(did(home, "judge", "--json").stdout)
    return [sum(row["actor"] == actor for row in rows) for rows in (ranked, scored, judged)]


def test_an_account_that_won_its_appeal_is_in_no_list_and_what_spoke_against_it_is_not_explained(home):
    actor = accused(home).actor
    before, kept = numbers_of(home, actor), status(home, LATER).days["kept"].sum()
    assert all(before)
    verdict = next(iter(home.judged(LATER).verdicts(actors=[actor])["verdict"].drop_nulls()))
    assert "no longer counts" not in did(home, "verdict", "show", verdict).stdout

    assert overturned(home) == actor

    after = Workspace.at(home.root)
    assert numbers_of(after, actor) == [0, 0, 0]
    assert status(after, LATER).days["kept"].sum() < kept
    told = at(home, "explain", actor)
    assert (told.returncode, told.stdout) == (1, "")
    assert "an appeal was overturned: evidence until" in told.stderr
    shown = did(home, "verdict", "show", verdict, "--html", home.root / "verdict.html")
    pages = (did(home, "verdict", "show", verdict).stdout, (home.root / "verdict.html").read_text())
    assert shown.returncode == 0
    assert all("An appeal was overturned: this verdict no longer counts against the account." in one for one in pages)


def test_newer_days_of_an_account_that_won_its_appeal_count(home):
    actor = accused(home).actor
    ((first, second, *_),) = [sorted(one.since for one in home.ledger.find(Observation, actor=actor))]
    with home.ledger.writing("gm", LATER) as work:
        work.add([Exonerated(actor, first, second, (), "appeal-x", LATER)])
    home.ledger.close()

    scored = [row for row in json.loads(did(home, "score", "--json").stdout) if row["actor"] == actor]

    assert scored
    assert min(row["since"] for row in scored)[:10] == f"{second:%Y-%m-%d}"
    assert "an appeal was overturned: evidence until" in did(home, "explain", actor).stderr


def test_the_desk_shows_no_number_about_an_account_that_won_its_appeal_and_the_badge_of_the_appeal(home):
    actor = accused(home).actor
    known = pl.read_csv(home.root / "labels.csv").filter(pl.col("actor") != actor)
    pl.concat([known.select("actor", "bot"), pl.DataFrame({"actor": [actor], "bot": [True]})]).write_csv(
        home.root / "labels.csv"
    )
    desk = Desk(Workspace.at(home.root))
    before = overview(desk, Span())
    assert judged(desk).of(actor).probability is not None
    assert account(desk, actor).judged.of_hundred is not None

    overturned(home)

    assert judged(desk).of(actor) is None
    row = population(desk, Span()).frame.row(by_predicate=pl.col("actor") == actor, named=True)
    assert (row["probability"], row["fpr"], row["point"], row["days_reached"]) == (None, None, None, 0)
    assert (row["label"], row["state"]) == ("human", "dismissed")
    after = overview(desk, Span())
    assert after.accounts == before.accounts - 1
    assert sum(one.judged for one in after.trend) < sum(one.judged for one in before.trend)
    view = account(desk, actor)
    assert [(one.bot, one.source) for one in view.labels] == [(False, "appeal")]
    assert all((one.probability, one.fpr, one.point, one.verdict) == (None,) * 4 for one in view.days)
    assert (view.judged.word, view.judged.of_hundred, view.judged.voices, view.reasons) == ("", None, (), None)
    assert [one.kind for one in view.judged.lacks] == ["refuted"]
    assert all(one.actor != actor for one in queue(desk, "Ada", 1_000).entries)
    with pytest.raises(NotThereError):
        reasons(desk, actor)
