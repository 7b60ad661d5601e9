"""A small synthetic table as operators keep them: one row an account, with whatever columns they have."""

from datetime import date, timedelta

import numpy as np
import polars as pl

from made_up import actor_names


def account_table(bots=60, humans=80, seed=5):
    """Bots play long days in few sessions from few addresses; some values are missing and some cannot be true."""
    draw = np.random.default_rng(seed)
    names = actor_names(bots, humans)
    bot = np.array([name.startswith("bot") for name in names])
    count = len(names)
    days = draw.integers(3, 60, count)
    a_day = np.where(bot, draw.lognormal(10.2, 0.6, count), draw.lognormal(9.2, 0.8, count)).clip(600, 80_000)
    a_day[draw.random(count) < 0.01] = 100_000.0
    a_day[0] = 90_000.0
    social = np.round(draw.normal(np.where(bot, 0.3, 0.9), 0.3).clip(0, 1.79), 4)
    unseen = draw.random(count) < 0.1
    return pl.DataFrame(
        {
            "actor": names,
            "character": [f"hero-{at:05}" for at in draw.permutation(count)],
            "account": [f"acc{at // 2:04}" for at in range(count)],
            "verdict": np.where(bot, "Bot", "Human"),
            "Playtime": np.round(days * a_day.clip(0, 80_000)).astype(np.int64),
            "playtime_per_day": np.round(a_day, 4),
            "Login_day_count": days,
            "Login_count": days * draw.integers(1, 5, count),
            "ip_count": draw.integers(1, np.where(bot, 4, 20)),
            "Max_level": draw.integers(1, 56, count),
            "Social_diversity": pl.Series(social).set(pl.Series(unseen), None),
            "class": draw.choice(["Cleric", "Ranger", "Templar"], count),
            "vip": draw.choice(["yes", "no"], count),
            "registered": [date(2010, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 400, count)],
            "ticket": 700_000 + 3 * np.argsort(np.argsort(np.where(bot, 0, 500) + draw.integers(0, 600, count))),
        }
    )
