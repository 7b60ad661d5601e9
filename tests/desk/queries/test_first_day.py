"""The desk before anything was judged: a queue by signs, the same as at the terminal, without a word of a score."""

from datetime import UTC, datetime

import pytest

from gamewarden.desk import review
from gamewarden.desk.account import reasons
from gamewarden.desk.desk import Desk
from gamewarden.desk.review import item, queue, take, undo, vote
from gamewarden.desk_records import Review
from gamewarden.errors import NotThereError
from gamewarden.lab.world import World
from gamewarden.lab.world.writing import write_events
from gamewarden.web.app import create_app
from gamewarden.workspace.asking import Answers
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Run
from people_made_up import browser

LATER = datetime(2015, 9, 10, tzinfo=UTC)
SETTINGS = '[workspace]\n[[source]]\nname = "game"\nlocator = "logs/*.parquet"\n'
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    place = tmp_path_factory.mktemp("desk") / "ws"
    (place / "logs").mkdir(parents=True)
    (place / "warden.toml").write_text(SETTINGS)
    world = World("lineage", 40, 2, 7, bots=0.3, society=True)
    write_events(world.batches(), place / "logs" / "events.parquet")
    return place


@pytest.fixture(scope="module")
def said(root):
    steps = {}
    assert Run(Workspace.at(root), LATER, lambda step: steps.update({step.step: step.says})).run() == 0
    return steps


@pytest.fixture
def desk(root, said):
    assert said["look"]
    found = Desk(Workspace.at(root))
    yield found
    found.close()
    if found.workspace.has_ledger:
        (root / "ledger.db").unlink()


def test_a_run_without_a_model_compares_everybody(said):
    assert said["models"].startswith("there is no model yet")
    assert said["look"].startswith("40 accounts compared")


def test_everybody_waits_and_an_entry_tells_no_score(desk):
    told = queue(desk, "Ada")

    assert told.waiting == 40
    assert {one.because for one in told.entries} == {("nobody has looked at it yet",)}


def test_those_who_look_odd_come_earlier_than_the_others(desk):
    look = Answers(desk.workspace).first_look
    odd = dict(look(_asked(), _options()).oddness.select("actor", "as_odd").iter_rows())

    first, last = queue(desk, "Ada", 12).entries, queue(desk, "Ada", 40).entries[-12:]

    assert sum(odd[one.actor] for one in first) < sum(odd[one.actor] for one in last)


def test_a_vote_is_kept_with_whether_chance_drew_the_account_and_can_be_taken_back(desk):
    first = take(desk, "Ada")

    made = vote(desk, first.actor, "bot", rater="Ada")
    second = take(desk, "Ada")

    kept = desk.workspace.ledger.find(Review)
    assert [(one.actor, one.says) for one in kept] == [(first.actor, "bot")]
    assert kept[0].drawn is made.seen.drawn
    assert made.seen.probability is None
    assert second.actor != first.actor
    undo(desk, rater="Ada")
    assert take(desk, "Ada").actor == first.actor


def test_two_raters_see_the_same_accounts_first(desk):
    assert [one.actor for one in queue(desk, "Ada").entries] == [one.actor for one in queue(desk, "Ben").entries]


def test_whom_three_raters_judged_waits_no_more(desk):
    first = take(desk, "Ada").actor
    for rater in ("Ada", "Ben", "Cleo"):
        vote(desk, first, "human", rater=rater)

    assert queue(desk, "Dora").waiting == 39
    assert first not in [one.actor for one in queue(desk, "Dora", 40).entries]


def test_the_signs_of_an_account_stand_beside_those_of_players_without_how_odd_they_are(desk):
    actor = take(desk, "Ada").actor

    told = reasons(desk, actor, blind=True)

    facts = [fact for one in told.detectors for topic in one.topics for fact in topic.facts]
    assert told.blind
    assert any("typical player" in fact.says for fact in facts)
    assert not any("human" in fact.says for fact in facts)
    assert all(fact.weight is None for fact in facts)


def test_nobody_is_judged_who_is_not_there(desk):
    with pytest.raises(NotThereError):
        vote(desk, "nobody", "bot", rater="Ada")


def test_the_page_shows_signs_and_no_parts_that_need_a_verdict(desk):
    page = browser(create_app(desk), "reviewer", "Ada").get("/review", headers=HTML).text

    assert item(desk, take(desk, "Ada").actor, "Ada").judged is False
    assert "/reasons?blind=1" in page
    assert "/series?blind=1" not in page


def test_before_a_run_nobody_waits_and_no_page_measures(tmp_path):
    (tmp_path / "warden.toml").write_text(SETTINGS)
    new = Desk(Workspace.at(tmp_path))

    assert review.queue(new, "Ada").waiting == 0
    assert review.take(new, "Ada") is None
    new.close()


def _asked():
    from gamewarden.config import Config
    from gamewarden.pipeline import RankOptions

    return RankOptions.of(Config())


def _options():
    from gamewarden.pipeline.first_look import LookOptions

    return LookOptions()
