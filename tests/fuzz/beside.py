"""The small tables beside a log: labels, reviewed flags and scores, profiles."""

from fuzz import values
from fuzz.case import Case, command, shown
from fuzz.kit import Kit
from fuzz.logs import parquet_bytes
from fuzz.mutate import Dice, Row, chance, csv_text, json_rows, odd_text, pack, spoil_bytes, spoil_rows

_NAMES = tuple([f"bot{number:03}" for number in range(6)] + [f"human{number:03}" for number in range(6, 14)])
_SOURCES = ("ban", "appeal", "rater", "random-review", "model", "simulation", "")


def labels(dice: Dice, _kit: Kit) -> Case:
    """Who is known to be a bot, or a person."""
    optional = dice.sample(
        ("character", "since", "until", "source", "votes", "group", "at", "family"), dice.randrange(4)
    )
    rows = [_label(dice, name, optional) for name in dice.choices(_NAMES, k=dice.choice((0, 1, 5, 14, 30)))]
    name = _file(dice, "labels")
    files = {name: _written(name, spoil_rows(rows, dice), dice)}
    asked = command(
        dice,
        (70, f"budget --reviewed {name} --wrong-per-month 2"),
        (15, f"budget scores.csv --labels {name} --wrong-per-month 2 --players 100"),
        (2, f"fit account-day {{kit}}/early.parquet --labels {name} --to models"),
        (2, f"evaluate {{kit}}/days.csv --labels {name}"),
        (2, f"backtest {{kit}}/lake --models {{kit}}/kept {{kit}}/kept --labels {name}"),
    )
    if "scores.csv" in asked:
        files["scores.csv"] = _written("scores.csv", spoil_rows(_scores(dice), dice), dice)
    if asked[0] == "fit":
        return Case(asked, files)
    return Case([*asked, *shown(dice)], files)


def _label(dice: Dice, name: str, optional: list[str]) -> Row:
    made = {
        "character": "c1",
        "since": dice.choice(("", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")),
        "until": dice.choice(("", "2026-03-03T00:00:00Z")),
        "source": dice.choice(_SOURCES),
        "votes": str(dice.randrange(9)),
        "group": dice.choice(("g1", "g2", "")),
        "at": "2026-03-04T00:00:00Z",
        "family": dice.choice(("f1", "f2", "")),
    }
    bot = name.startswith("bot") if chance(dice, 0.9) else chance(dice, 0.5)
    return {"actor": name, "bot": str(bot).lower(), **{name: made[name] for name in optional}}


def _scores(dice: Dice) -> list[Row]:
    return [
        {
            "actor": dice.choice(_NAMES),
            "since": "2026-03-01T00:00:00Z",
            "until": "2026-03-02T00:00:00Z",
            "detector": "account-day",
            "fpr": f"{dice.random():.3f}",
            "probability": f"{dice.random():.3f}",
        }
        for _ in range(dice.choice((0, 1, 10)))
    ]


def profiles(dice: Dice, _kit: Kit) -> Case:
    """What an operator knows beside the events."""
    extra = [odd_text(dice) if chance(dice, 0.1) else name for name in dice.sample(_COLUMNS, dice.randrange(4))]
    rows = [{"actor": name, **{column: _known(dice) for column in extra}} for name in _NAMES[: dice.choice((0, 1, 14))]]
    name = _file(dice, "profiles")
    files = {name: _written(name, spoil_rows(rows, dice), dice)}
    asked = command(
        dice,
        (60, f"rank {{kit}}/lake --models {{kit}}/kept --profiles {name} --probability 0"),
        (10, f"backtest {{kit}}/lake --models {{kit}}/kept {{kit}}/kept --profiles {name} --by level"),
        (200, f"measure account-table {name} --actor actor"),
        (20, f"score {name} --models {{kit}}/shelf"),
    )
    if asked[0] == "rank" and chance(dice, 0.5):
        asked += [
            "--where",
            dice.choice(("level>3", "level in 1,2", "grade=GOLD", f"{odd_text(dice)}=1", "level<nan", "x", "level!=")),
        ]
    return Case([*asked, *shown(dice)], files)


_COLUMNS = ("name", "server", "class", "level", "first_login", "customer_grade", "payment", "vip")


def _known(dice: Dice) -> str:
    return dice.choice(("GOLD", "7", "80", "2026-01-01", "yes", "0.5", "", "x"))


def _file(dice: Dice, name: str) -> str:
    return f"{name}.{dice.choice(('csv', 'csv', 'jsonl', 'parquet'))}"


def _written(name: str, rows: list[Row], dice: Dice) -> bytes:
    if name.endswith("parquet"):
        data = parquet_bytes(rows, dice)
        return spoil_bytes(data, dice, values.WORDS["parquet"]) if chance(dice, 0.2) else data
    words = "jsonl" if name.endswith("jsonl") else "csv"
    text = (json_rows if words == "jsonl" else csv_text)(rows, dice)
    data = text.encode("utf-8", "surrogatepass")
    if chance(dice, 0.3):
        data = spoil_bytes(data, dice, values.WORDS[words])
    return pack(data, dice) if chance(dice, 0.12) else data
