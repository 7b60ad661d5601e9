"""Text that players choose reaches people as it is written, and obeys nobody: not the terminal, not a spreadsheet."""

import csv
import io
import json
import sqlite3
import sys
import unicodedata
from contextlib import closing
from pathlib import Path

import click
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_commands import all_commands
from appeals_made_up import NOW, action, appeal, decision
from commands import done, run
from gamewarden.cli import root, show
from gamewarden.core.outside import cut, escape, plain_json, visible
from gamewarden.core.spreadsheets import harmless, restored
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.tables import csv_text, json_lines, json_text, write_table
from gamewarden.workspace.place import Workspace
from outside_text import NASTY, STEERING, steering_in
from tables_made_up import account_table

pytestmark = pytest.mark.integration

NASTY_FILE = "\x1b[2J\x9b2J\u202e\u200b\x07[x]:cat:"


def renamed(column):
    return pl.when(pl.col(column).is_not_null()).then(pl.concat_str(pl.col(column), pl.lit(NASTY))).alias(column)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A synthetic game in which everything that players and file systems can name is named to do harm."""
    place = tmp_path_factory.mktemp("plain") / NASTY_FILE
    done("world", place / "world", "--accounts", 40, "--days", 1, "--seed", 5, "--game", "aion", "--packets")
    events = pl.read_parquet((place / "world/events.parquet").read_bytes())
    events = events.with_columns(
        renamed("actor"),
        renamed("character"),
        renamed("zone") + "\r",
        renamed("item") + "\r\n",
        pl.when(pl.col("kind") == "chat").then(pl.lit(f"chat{NASTY}")).otherwise("kind").alias("kind"),
    )
    write(events, place / f"events{NASTY_FILE}.parquet")
    labels = pl.read_csv((place / "world/labels.csv").read_bytes()).with_columns(renamed("actor"), renamed("source"))
    write(labels, place / "labels.csv")
    profiles = pl.read_csv((place / "world/profiles.csv").read_bytes(), infer_schema=False)
    write(
        profiles.with_columns(renamed("actor"), renamed("name")).rename({"class": f"class{NASTY}"}),
        place / "profiles.csv",
    )
    table = account_table().with_columns(renamed("actor"), renamed("class"))
    write(table.rename({"ip_count": f"ip_count{NASTY}"}), place / "accounts.csv")
    packets = pl.read_parquet((place / "world/packets.parquet").read_bytes()).with_columns(renamed("actor"))
    write(packets, place / "packets.parquet")
    lake, models = place / f"lake{NASTY_FILE}", place / f"models{NASTY_FILE}"
    done("read", place / f"events{NASTY_FILE}.parquet", "--to", lake)
    for name in ("account-day", "self-similarity"):
        done("fit", name, lake, "--labels", place / "labels.csv", "--to", models)
    table_words = ("--actor", "actor", "--label", "verdict", "--group", "account")
    done("fit", "account-table", place / "accounts.csv", *table_words, "--rounds", 20, "--to", place / "tables")
    done("world", place / "ragnarok", "--ragnarok", "--sessions", 4)
    done("judge", lake, "--models", models, "--to", place / "verdicts", "--all")
    rung = f'[[response.ladder]]\nname = "odd"\nenter = 1.0\ndetectors = [{json.dumps(NASTY)}]\n'
    (place / f"policy{NASTY_FILE}.toml").write_text(rung, encoding="utf-8")
    return place


def write(frame, path):
    """As the operator's own tools would: nothing is made harmless."""
    with path.open("wb") as file:
        frame.write_parquet(file) if path.suffix == ".parquet" else frame.write_csv(file)


def game_at(place):
    """A game server's database whose players and tables were named to do harm."""
    path = place / f"game{NASTY_FILE}.db"
    if not path.exists():
        with closing(sqlite3.connect(path)) as game, game:
            game.execute("CREATE TABLE login (account_id INTEGER PRIMARY KEY, userid TEXT, sex TEXT)")
            game.execute("CREATE TABLE char (char_id INTEGER PRIMARY KEY, account_id INTEGER, name TEXT)")
            columns = (
                "id INTEGER PRIMARY KEY, time TEXT, char_id INTEGER, type TEXT, nameid TEXT, amount INTEGER, map TEXT"
            )
            game.execute(f"CREATE TABLE picklog ({columns})")
            game.execute(f'CREATE TABLE "odd{NASTY_FILE}" (x)')
            game.execute("INSERT INTO login VALUES (1, ?, 'M')", (NASTY,))
            game.execute("INSERT INTO char VALUES (5, 1, ?)", (NASTY,))
            game.execute("INSERT INTO picklog VALUES (1, ?, 5, 'P', ?, 1, ?)", (NASTY, NASTY, NASTY))
            game.execute("INSERT INTO picklog VALUES (2, '2026-03-01 12:00:00', 5, ?, ?, 1, ?)", (NASTY, NASTY, NASTY))
    return f"sqlite:///{path}"


def cases(place):
    """Every command with words that make it speak of what was named to do harm."""
    lake, models, labels = place / f"lake{NASTY_FILE}", place / f"models{NASTY_FILE}", place / "labels.csv"
    log, tables = place / f"events{NASTY_FILE}.parquet", place / "tables"
    known, streams, nowhere = ("--labels", labels), place / "ragnarok", place / f"nothing{NASTY_FILE}"
    actor = pl.read_parquet(log.read_bytes())["actor"][0]
    ids = sorted(path.stem for path in models.iterdir() if "@" in path.name)
    reason = ("--models", models, "--because", f"because{NASTY}", "--by", f"by{NASTY}")
    refused = ("--out", place / f"x.{NASTY_FILE}")
    failing = ("--labels", nowhere, "--to", models)
    return {
        "audit": [(NASTY,), ("--verify", "--since-head", NASTY), ("--last", NASTY)],
        "appeal decide": [(NASTY, "upheld", "--by", NASTY, "--because", NASTY)],
        "appeal list": [("--open",)],
        "appeal open": [(NASTY, "--text", NASTY)],
        "appeal statement": [(NASTY,)],
        "backtest": [(lake, "--models", models, models), (nowhere, "--models", models, models)],
        "budget": [("--wrong-per-month", 2, "--players", 1000, "--models", models)],
        "challenge answer": [(NASTY, "--actor", NASTY, "--session", NASTY, "--", NASTY)],
        "challenge due": [(NASTY,)],
        "challenge end": [(NASTY, "--disconnect")],
        "challenge issue": [(NASTY, "--session", NASTY, "--kind", NASTY), (NASTY, "--session", NASTY, *refused)],
        "challenge list": [("--actor", NASTY)],
        "challenge on-call": [(NASTY,)],
        "compact": [(lake,), (nowhere,)],
        "decide": [(NASTY, "limit", "--by", NASTY, "--because", NASTY, "--for", "7d"), (NASTY, NASTY)],
        "decisions actions": [(NASTY,)],
        "decisions approve": [(NASTY, "--by", NASTY)],
        "decisions list": [("--actor", NASTY), ("--step", NASTY)],
        "decisions reconcile": [(), ("--repair", "--by", NASTY), (NASTY,)],
        "decisions resume": [("--by", NASTY)],
        "decisions settle": [(NASTY, "happened", "--by", NASTY), (NASTY, NASTY)],
        "decisions show": [(NASTY,)],
        "decisions undo": [(NASTY, "--by", NASTY, "--because", NASTY)],
        "completion": [("bash",), (NASTY,)],
        "config": [("--config-is-not-an-option" + NASTY,)],
        "delta": [(lake,), (nowhere,)],
        "demo": [("--to", labels / NASTY_FILE)],
        "doctor": [(game_at(place),), (game_at(place), "--json"), (f"mysql://{NASTY}",), (nowhere,), (log,)],
        "evaluate": [(lake, *known)],
        "explain": [
            (actor, lake, "--models", models),
            (actor, lake, "--models", models, "--plot", place / "windows.png"),
            (NASTY, lake, "--models", models),
            ("[/x]", lake, "--models", models),
            (f"bot000{NASTY}", place / "accounts.csv", "--models", tables),
        ],
        "fit oddness": [(lake, "--to", models), (nowhere, "--to", models)],
        "fit signs": [(lake, *failing)],
        "fit table-signs": [(place / "accounts.csv", "--actor", NASTY, "--label", "verdict", "--to", tables)],
        "fit account-day": [(lake, *known, "--to", models)],
        "fit self-similarity": [(lake, *failing)],
        "fit groups": [(lake, *failing)],
        "fit actions-interval": [(lake, *failing)],
        "fit actions-frequency": [(lake, *failing)],
        "fit actions-two-stage": [(lake, *failing)],
        "fit copies": [(lake, *failing)],
        "fit paths": [(lake, *failing)],
        "fit pulses": [(lake, *failing)],
        "fit traffic": [(place / "packets.parquet", *failing)],
        "fit session-network": [(nowhere, "--to", models)],
        "fit session-angle": [(streams / "players", streams / "bots", "--to", models)],
        "fit account-table": [(place / "accounts.csv", "--actor", NASTY, "--label", "verdict", "--to", tables)],
        "fit fusion": [(lake, *known, "--models", nowhere)],
        "forget": [(NASTY, "--yes")],
        "groups": [(lake,), (lake, "--json"), (lake, "--out", place / f"groups{NASTY_FILE}"), (nowhere,)],
        "init": [(place / f"home{NASTY_FILE}",), (place, "--from", NASTY), (labels / NASTY_FILE,)],
        "judge": [(lake, "--models", models)],
        "label": [(NASTY, "bot", "--by", NASTY)],
        "lint": [(log,), (labels,), (nowhere,)],
        "map init": [(log,), (labels,), (nowhere,)],
        "maintain": [("--lake", lake, "--models", models, *known), ("--lake", nowhere, "--models", models)],
        "measure self-similarity": [(lake,), (lake, "--by", "character"), (lake, *refused)],
        "measure activity": [(lake,)],
        "measure actions": [(lake,)],
        "measure copies": [(lake,)],
        "measure paths": [(lake,)],
        "measure pulses": [(lake,)],
        "measure flows": [(lake,)],
        "measure rhythm": [(lake,)],
        "measure names": [(lake,)],
        "measure signs": [(lake,)],
        "measure traffic": [(place / "packets.parquet",), (streams / "capture.pcap", "--server-port", 5121)],
        "measure session": [(streams / "players",)],
        "measure account-table": [(place / "accounts.csv", "--actor", "actor")],
        "model diff": [(ids[0], ids[1], "--models", models, "--on", lake), (NASTY, NASTY, "--models", models)],
        "model promote": [(ids[0], *reason), (ids[1], *reason), (NASTY, *reason)],
        "model history": [("--models", models)],
        "model list": [("--models", models)],
        "model roll-back": [(ids[0].partition("@")[0], *reason), (NASTY, *reason)],
        "model show": [(ids[0], "--models", models), (ids[1], "--models", models)],
        "packets": [(streams / "players",), (nowhere,)],
        "policy diff": [(nowhere, nowhere), (place / f"policy{NASTY_FILE}.toml", place / f"policy{NASTY_FILE}.toml")],
        "policy show": [("--ladder", place / f"policy{NASTY_FILE}.toml"), ("--ladder", nowhere)],
        "policy test": [("--ladder", nowhere), ("--top", NASTY)],
        "protect": [("--list",), (NASTY, "--for", "9d", "--by", NASTY, "--because", NASTY)],
        "rank": [
            (lake, "--models", models, "--top", 0, "--probability", 0, "--profiles", place / "profiles.csv"),
            (lake, "--models", models, "--where", f"{NASTY}=1"),
        ],
        "publish": [
            (log, f"kafka://{NASTY_FILE}/x"),
            (log, f"{NASTY}"),
            (nowhere, "nats://127.0.0.1:1/x"),
            (log, f"nats://127.0.0.1:1/{NASTY_FILE}"),
        ],
        "read": [(log, "--to", place / f"other{NASTY_FILE}"), (nowhere, "--to", lake)],
        "reproduce lee": [refused],
        "reproduce hilaire": [refused],
        "reproduce thawonmas": [refused],
        "reproduce maintenance": [refused],
        "reproduce cornelissen": [refused],
        "reproduce together": [refused],
        "reproduce defence": [refused],
        "reproduce farms": [refused],
        "reproduce cold-start": [refused],
        "review": [
            (lake, "--by", NASTY, "--to", place / f"reviews{NASTY_FILE}"),
            (lake, "--accounts", NASTY, "--to", place / f"reviews{NASTY_FILE}"),
            ("--agreement", "--to", place / f"reviews{NASTY_FILE}"),
            ("--estimate", "--to", nowhere),
            (nowhere,),
        ],
        "run": [("--every", NASTY)],
        "score": [(lake, "--models", models), (place / "accounts.csv", "--models", tables)],
        "serve": [("--host", NASTY), ("--port", NASTY)],
        "status": [(NASTY,)],
        "trend": [(lake, "--models", models), (lake, "--models", models, "--by", "zone")],
        "verdict show": [(NASTY,)],
        "verify": [(place / "verdicts", "--models", models, "--source", lake), (nowhere,)],
        "warm": [(NASTY,)],
        "watch": [(place / "packets.parquet",), (nowhere,)],
        "world": [(place / f"small{NASTY_FILE}", "--accounts", 2), (labels / NASTY_FILE, "--accounts", 2)],
    }


def test_nothing_a_workspace_says_steers_the_terminal(nasty, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    quoted = json.dumps(str(nasty / f"events{NASTY_FILE}.parquet").replace("[", "?"))
    models = json.dumps(str(nasty / f"models{NASTY_FILE}"))
    settings = f'[workspace]\nmodels = {models}\n[[source]]\nname = "game"\nlocator = {quoted}\n'
    (home / "warden.toml").write_text(settings, encoding="utf-8")
    eager = home / "eager.toml"
    eager.write_text("[response]\nprior = 0.4\n[verdict]\nact = 0.05\nagree = 1\n[coverage]\nleast = 0.0\n")
    policy = ("policy", "test", "--ladder", eager), ("policy", "diff", home / "warden.toml", eager)
    for words in (
        ("run",),
        ("status",),
        ("rank", "--probability", 0),
        ("judge",),
        ("trend",),
        ("verify",),
        ("run",),
        *policy,
    ):
        ended = run("--workspace", home, *words)

        assert steering_in(ended.stdout + ended.stderr) == set(), (ended.returncode, words)
        assert "Traceback" not in ended.stderr


def test_nothing_a_ledger_says_steers_the_terminal(tmp_path):
    (tmp_path / "warden.toml").write_text('[workspace]\nresults = "results"\n', encoding="utf-8")
    made = decision(actor=f"kim{NASTY}", by=f"gm{NASTY}", because=(f"seen{NASTY}",), undone_because=NASTY)
    word = ("--by", f"ann{NASTY}", "--because", f"because{NASTY}")
    with Workspace.at(tmp_path).ledger.writing(NASTY, NOW) as work:
        work.add([made])
        work.add([action(made, error=NASTY, receipt={NASTY: NASTY})])
        work.add([appeal(actor=made.actor, decision=made.id, id="appeal-1", opened_by=NASTY, text=NASTY)])
    for words in (
        ("decisions", "list", "--all"),
        ("decisions", "list", "--json"),
        ("decisions", "show", made.id),
        ("decisions", "show", made.id, "--json"),
        ("decisions", "actions", "--all"),
        ("decide", made.actor, "freeze", *word, "--for", "7d"),
        ("decide", made.actor, "ban", *word, "--for-ever"),
        ("decisions", "approve", made.id, "--by", NASTY),
        ("decisions", "undo", made.id, *word),
        ("status",),
        ("appeal", "list"),
        ("appeal", "list", "--json"),
        ("appeal", "statement", made.id),
        ("appeal", "statement", made.id, "--for", "operator", "--language", "ko"),
        ("appeal", "statement", made.id, "--for", "operator", "--json"),
        ("appeal", "open", made.actor, "--text", NASTY),
        ("appeal", "decide", "appeal-1", "overturned", *word),
        ("appeal", "decide", "appeal-1", "overturned", *word),
        ("protect", made.actor, "--for", "9d", *word),
        ("protect", "--list"),
        ("protect", made.actor, "--end", "--by", NASTY),
        ("label", made.actor, "human", *word),
        ("label", made.actor, "human", "--by", NASTY, "--source", f"x{NASTY}"),
    ):
        ended = run("--workspace", tmp_path, *words)

        assert steering_in(ended.stdout + ended.stderr) == set(), (ended.returncode, words)
        assert "Traceback" not in ended.stderr
        assert ended.returncode == 0 or ended.stderr.count("\n") == 1, ended.stderr


def test_nothing_a_challenge_says_steers_the_terminal(tmp_path):
    settings = f'[workspace]\nlake = "lake"\n[response]\narmed = true\n[challenge]\nreward = {json.dumps(NASTY)}\n'
    words = {"items": {f"{kind}{NASTY}": [f"{kind}{number}{NASTY}" for number in range(6)] for kind in "abc"}}
    listed = "\n".join(f"{json.dumps(kind)} = {json.dumps(items)}" for kind, items in words["items"].items())
    (tmp_path / "words.toml").write_text(f"[items]\n{listed}\n", encoding="utf-8")
    (tmp_path / "warden.toml").write_text(f'{settings}words = "words.toml"\n', encoding="utf-8")
    issue = ("challenge", "issue", NASTY, "--session", NASTY, "--kind")
    made = json.loads(done(*issue, "item", "--json", "--tell-answer", cwd=tmp_path).stdout)
    whose = ("--actor", NASTY, "--session", NASTY, "--")
    for arguments in (
        (*issue, "item"),
        (*issue, "item", "--busy", f"dead{NASTY}"),
        (*issue, "task", "--rehearse"),
        (*issue, NASTY),
        ("challenge", "answer", made["id"], *whose, NASTY),
        ("challenge", "answer", made["id"], *whose, made["answer"]),
        ("challenge", "list"),
        ("challenge", "list", "--json"),
        ("challenge", "end", made["id"], "--disconnect"),
        ("challenge", "end", NASTY, "--disconnect"),
        ("challenge", "due"),
        ("challenge", "on-call"),
    ):
        ended = run(*arguments, cwd=tmp_path)
        assert steering_in(ended.stdout + ended.stderr) == set(), (ended.returncode, arguments)


def test_every_command_is_walked_below():
    commands = [" ".join(words) for words, command in all_commands(root) if not isinstance(command, click.Group)]

    source = Path(__file__).read_text(encoding="utf-8")
    assert [words for words in commands if f'        "{words}": [' not in source] == []


@pytest.mark.parametrize(
    "words", [" ".join(words) for words, command in all_commands(root) if not isinstance(command, click.Group)]
)
def test_nothing_a_command_says_steers_the_terminal(nasty, words):
    for arguments in cases(nasty)[words]:
        ended = run(*words.split(), *arguments)

        assert steering_in(ended.stdout) == set(), (ended.returncode, arguments)
        assert steering_in(ended.stderr) == set(), (ended.returncode, arguments)
        assert "Traceback" not in ended.stderr
        assert "🐱" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("words", ["measure activity", "score", "rank", "lint", "model show", "judge", "packets"])
def test_json_of_a_command_steers_nothing_and_is_json(nasty, words):
    ended = run(*words.split(), *cases(nasty)[words][0], "--json")

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)
    assert steering_in(ended.stdout + ended.stderr) == set()


def test_everything_that_steers_or_hides_is_written_out_and_nothing_else():
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        steers = unicodedata.category(letter) in STEERING or letter in "\u115f\u1160\u3164\uffa0"
        if steers or unicodedata.category(letter) != "Cn":  # Python may know fewer letters than the list
            assert (visible(letter) != letter) == steers, hex(number)


@given(st.text(max_size=200), st.integers(12, 100))
def test_a_cut_line_keeps_its_beginning_and_its_end_and_says_what_is_missing(text, most):
    shown = cut(text, most)

    if len(text) <= most:
        assert shown == text
    else:
        begin, end = 2 * most // 3, most // 6
        assert shown.startswith(text[:begin])
        assert shown.endswith(text[-end:])
        assert f"({len(text) - begin - end} letters left out)" in shown


@given(st.text(st.characters()))
def test_what_is_visible_stays_as_it_is(text):
    shown = visible(text)

    assert steering_in(shown) == set()
    assert "\n" not in shown
    assert visible(shown) == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_steers_nothing_and_says_the_same(text):
    frame = pl.DataFrame({f"name{text}": [text]})

    for written in (json_text(frame), json_lines(frame), plain_json(json.dumps([{f"name{text}": text}]))):
        assert steering_in(written) == set()
        read = json.loads(written)
        assert (read[0] if isinstance(read, list) else read) == {f"name{text}": text}


LISTED = ["[/x]", "a$\\foo$", ":cat:", "\x1b]0;title\x07", "\x9b2J", "\u202eabc"]


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """A synthetic game in which six accounts are called something that used to be obeyed."""
    place = tmp_path_factory.mktemp("called")
    done("world", place, "--accounts", 40, "--days", 1, "--seed", 5)
    events, labels = pl.read_parquet(place / "events.parquet"), pl.read_csv(place / "labels.csv")
    names = dict(zip(events["actor"].unique(maintain_order=True), LISTED, strict=False))
    events.with_columns(pl.col("actor").replace(names)).write_parquet(place / "log.parquet")
    labels.with_columns(pl.col("actor").replace(names)).write_parquet(place / "labels.parquet")
    done(
        "fit", "self-similarity", place / "log.parquet", "--labels", place / "labels.parquet", "--to", place / "models"
    )
    return place


@pytest.mark.parametrize("name", LISTED)
def test_an_account_of_any_name_is_explained_and_drawn_under_it(called, name):
    words = ("explain", name, called / "log.parquet", "--models", called / "models")

    told, drawn, missed = (
        run(*words),
        run(*words, "--plot", called / "drawn.svg"),
        run("explain", f"no{name}", *words[2:]),
    )

    assert (told.returncode, drawn.returncode, missed.returncode) == (0, 0, 1)
    assert visible(name) in told.stdout
    assert missed.stderr.endswith(f"has no event of actor {f'no{name}'!r}\n")
    for ended in (told, drawn, missed):
        assert steering_in(ended.stdout + ended.stderr) == set()
        assert "🐱" not in ended.stdout + ended.stderr
    assert steering_in((called / "drawn.svg").read_text(encoding="utf-8")) == set()


def test_a_page_shows_what_a_browser_would_obey():
    assert escape("<b>\u202e\x9b") == "&lt;b&gt;\\u202e\\x9b"


def test_a_table_takes_no_name_for_markup_or_an_emoji(capsys):
    names = ["[/x]", "[bold]b[/bold]", ":cat:", "a\nb", "\x1b]0;title\x07"]

    show.lay_out(pl.DataFrame({"[/y]:cat:": names}), "[/z]:cat:")

    shown = capsys.readouterr().out
    for text in ("[/y]:cat:", "[/z]:cat:", *names[:3], r"a\nb", r"\x1b]0;title\x07"):
        assert text in shown
    assert steering_in(shown) == set()


class Terminal(io.StringIO):
    """Standard error as a person sits before it."""

    def isatty(self):
        return True


def test_a_progress_bar_takes_no_name_for_markup_or_a_command(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())

    with show.progress("looking at [/x]:cat:\u202e\x1b]0;title\x07", 2) as done:
        done(1)

    written = sys.stderr.getvalue()
    assert r"looking at [/x]:cat:\u202e\x1b]0;title\x07" in written
    assert "\x1b]0" not in written
    assert "\u202e" not in written


def test_a_status_line_sends_nothing_of_its_own(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())

    with show.status_line() as status:
        status("a\x1b[2J\u202e")

    assert sys.stderr.getvalue() == "\r\x1b[Ka\\x1b[2J\\u202e\n"


@pytest.mark.parametrize("words", [("lint",), ("read", "--to", "lake"), ("--config", "config")], ids=" ".join)
def test_a_file_name_that_is_not_text_is_one_line(words, tmp_path):
    first, *others = words

    ended = run(first, tmp_path / "a\udcff.csv", *others)

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


# --- Spreadsheets

FORMULAS = ["=cmd()", "+1", "-1", "@sum", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", "'=x", "''+x"]
ORDINARY = ["u00001", "김철수", "O'Brien", "'quoted'", "a=b", "x-1", "1+1", 'say "hi"', "a,b", " =x", "", None, "007"]


def cells(text):
    return [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:]


def test_what_a_spreadsheet_would_run_gets_an_apostrophe():
    assert cells(csv_text(pl.DataFrame({"actor": FORMULAS}))) == [f"'{text}" for text in FORMULAS]


def test_ordinary_names_numbers_and_times_are_written_to_the_byte():
    frame = pl.DataFrame({"actor": ORDINARY, "score": [-1.5] * len(ORDINARY), "n": [-3] * len(ORDINARY)})

    assert csv_text(frame) == frame.write_csv() == csv_text(frame, exact=True)


def test_column_names_are_made_harmless_too():
    assert csv_text(pl.DataFrame({"=x": [1], "actor": ["b"]})).splitlines()[0] == "'=x,actor"


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n＝a1,\"")), min_size=1, unique=True))
def test_each_text_is_written_in_its_own_way_and_read_back(texts):
    frame = pl.DataFrame({"actor": texts}).with_columns(pl.lit(1).alias(text) for text in texts if text)

    written = harmless(frame)

    assert restored(written).equals(frame)
    assert written["actor"].n_unique() == len(texts)
    assert not written["actor"].str.contains("^[=+\\-@\t\r\n＝]").any()


def test_a_foreign_table_may_have_a_column_with_the_apostrophe_and_one_without():
    frame = pl.DataFrame({"=x": [1], "'=x": [2]})

    assert restored(frame).columns == ["=x", "'=x"]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_labels_written_from_a_list_of_ours_name_the_same_actors(tmp_path, ending):
    actors = [text for text in (*FORMULAS, *ORDINARY) if text]
    frame = pl.DataFrame({"actor": actors, "bot": [True] * len(actors), "source": ["=x"] * len(actors)})
    if ending == "json":
        (tmp_path / "labels.json").write_text(json_lines(frame), encoding="utf-8")
    else:
        write_table(frame, tmp_path / f"labels.{ending}")

    labels = read_labels(tmp_path / f"labels.{ending}")

    assert sorted(labels.frame["actor"]) == sorted(actors)
    assert set(labels.frame["source"]) == {"=x"}


def test_what_was_taken_back_from_labels_is_said(tmp_path):
    write_table(pl.DataFrame({"actor": ["=x", "b"], "bot": [True, False]}), tmp_path / "labels.csv")

    assert read_labels(tmp_path / "labels.csv").notes == (
        f"{tmp_path / 'labels.csv'}: 1 text with an apostrophe before a formula's sign is read without it",
    )


def test_a_command_writes_harmless_csv_unless_told_to_write_it_raw(tmp_path):
    table = account_table().with_columns(pl.concat_str(pl.lit("="), "actor").alias("actor"))
    table.write_csv(tmp_path / "table.csv")
    words = ("measure", "account-table", tmp_path / "table.csv", "--actor", "actor", "--out", tmp_path / "out.csv")

    done(*words)
    harmless_actors = cells((tmp_path / "out.csv").read_text())
    done(*words, "--raw")
    raw_actors = cells((tmp_path / "out.csv").read_text())

    assert sorted(raw_actors) == sorted(table["actor"])
    assert harmless_actors == [f"'{actor}" for actor in raw_actors]
