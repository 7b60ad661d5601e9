"""Accounts that run one script, and people who do not."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from gamewarden.contracts import sight_of
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.folding import feed
from gamewarden.tables import FrameEvents

START = datetime(2026, 3, 2, 18, tzinfo=UTC)

SKILLS = [f"skill.use.{number}" for number in range(40)]

ROUND = ("combat.kill", "exp.gain", "loot.pickup")


def life(actor, seed, *, skills, places, jitter, pace=1.5, minutes=90, start=START, zone="Dion"):
    """Rounds of skills and what a kill leaves, at one place after the other; `jitter` is what a hand does to times."""
    draw = np.random.default_rng(seed)
    at, rows, number = start + timedelta(seconds=float(draw.uniform(0, 300))), [], 0
    end = start + timedelta(minutes=minutes)
    while at < end:
        x, y = places(number, draw)
        for kind in (*draw.choice(skills, 2), *ROUND):
            at += timedelta(seconds=float(pace * np.exp(jitter * draw.normal())))
            rows.append((actor, at, kind, zone, x, y, 30))
        number += 1
    schema = {"actor": pl.String, "at": pl.Datetime("us", "UTC"), "kind": pl.String, "zone": pl.String}
    return pl.DataFrame(rows, {**schema, "x": pl.Float32, "y": pl.Float32, "level": pl.Int16}, orient="row")


def loop(seed, corners=10):
    points = np.random.default_rng(seed).uniform(0, 200, (corners, 2))
    return lambda number, _: tuple(points[number % corners])


def anywhere(_, draw):
    return tuple(draw.uniform(0, 200, 2))


def person(actor, seed, **other):
    skills = list(np.random.default_rng(10_000 + seed).choice(SKILLS, 4, replace=False))
    return life(actor, seed, **{"skills": skills, "places": anywhere, "jitter": 0.5, **other})


def people(count):
    return [person(f"person{number:02}", number) for number in range(count)]


def copies(count, script=7, **other):
    skills = list(np.random.default_rng(20_000 + script).choice(SKILLS, 2, replace=False))
    made = {"skills": skills, "places": loop(script), "jitter": 0.08, **other}
    return [
        life(f"copy{number:02}", 500 + number, start=START + timedelta(hours=number), **made) for number in range(count)
    ]


def parts_of(lives, **options):
    recipe, stream = Copies(**options), FrameEvents(pl.concat(lives).sort("at"))
    fold = recipe.part_fold(sight_of("events", stream))
    feed(fold, stream)
    return fold.frame()
