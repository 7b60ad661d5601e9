"""Obvious bots are reached and people are left alone, in three games that are not the synthetic world."""

from dataclasses import dataclass

import polars as pl
import pytest

from commands import done
from gamewarden.policy import CHALLENGE, FREEZE, ISOLATE, LIMIT
from gamewarden.workspace.place import Workspace
from small_games import GAMES, IDLE_ARENA, Game, Log, play

pytestmark = pytest.mark.integration

DETECTORS = ("account-day", "actions-frequency", "copies")
SETTINGS = """
[workspace]
labels = "labels.csv"

[[source]]
name = "game"
locator = "events.parquet"
"""


@dataclass(frozen=True)
class Judged:
    """One game after a run: its accounts, and the decisions of the response (a dry run)."""

    game: Game
    accounts: pl.DataFrame  # actor, design, bot, highest probability, whether any day is at watch
    decisions: pl.DataFrame

    def people_touched(self, *steps: str) -> float:
        touched = self.decisions.filter(pl.col("step").is_in(steps))["actor"]
        return self.people["actor"].is_in(touched.implode()).mean()

    @property
    def people(self) -> pl.DataFrame:
        return self.accounts.filter(~pl.col("bot"))


@pytest.fixture(
    scope="module",
    params=[*((game, count) for game in GAMES for count in (1, 3)), (IDLE_ARENA, 1)],
    ids=lambda one: f"{one[0].name}-{one[1]}",
)
def judged(request, tmp_path_factory) -> Judged:
    game, count = request.param
    root = tmp_path_factory.mktemp(game.name)
    log = play(game, seed=1, days=5)
    return judge(game, log, root, DETECTORS[:count])


def judge(game: Game, log: Log, root, detectors) -> Judged:
    log.events.write_parquet(root / "events.parquet")
    log.labels().write_csv(root / "labels.csv")
    (root / "warden.toml").write_text(SETTINGS)
    done("read", root / "events.parquet", "--to", root / "fitted-on")
    for detector in detectors:
        done("fit", detector, root / "fitted-on", "--labels", root / "labels.csv", "--to", root / "models")
    done("run", cwd=root)
    workspace = Workspace.at(root)
    verdicts = workspace.judged().verdicts()
    accounts = verdicts.group_by("actor").agg(
        pl.col("probability").max(), watch=pl.col("point").is_in(["watch", "act"]).any()
    )
    rows = [(actor, design, log.is_bot(actor)) for actor, design in log.designs.items()]
    designs = pl.DataFrame(rows, ["actor", "design", "bot"], orient="row")
    decisions = pl.read_json(done("decisions", "list", "--json", cwd=root).stdout.encode())
    return Judged(game, accounts.join(designs, on="actor"), decisions)


def test_obvious_bots_reach_watch(judged):
    obvious = judged.accounts.filter("bot", pl.col("probability") >= 0.98)

    assert obvious.height >= 30
    assert obvious["watch"].mean() >= 0.9


def test_few_people_are_ever_on_watch(judged):
    assert judged.people["watch"].mean() <= 0.06


def test_people_who_are_away_are_not_singled_out(judged, request):
    if judged.game.idle_sessions:
        reason = "no column of a row tells whole idle sessions from a script's (decision 161, Left)"
        request.applymarker(pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason))
    away = judged.people.filter(design="away")

    assert away["watch"].mean() <= 0.15


def test_hardly_anybody_is_limited_or_challenged_and_no_person_is_frozen(judged):
    assert judged.people_touched(LIMIT, CHALLENGE) <= 0.02
    assert judged.people_touched(FREEZE, ISOLATE) == 0
