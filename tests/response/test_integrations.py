"""The scripts for game servers: what they write is ours, and a real MariaDB takes it.

The NPC scripts ran in real map-servers (integrations/README.md says which); here their statements do.
"""

import re
import shutil
import subprocess
from itertools import pairwise

import pytest

from gamewarden.tables import RESERVED_KINDS
from mariadb_server import database_of
from paths import ROOT, SUPPORT

pytestmark = pytest.mark.integration

INTEGRATIONS = ROOT / "integrations"
README = INTEGRATIONS / "README.md"
NPC_SCRIPTS = sorted(INTEGRATIONS.glob("*/*.txt"))
COLLECTOR = INTEGRATIONS / "azerothcore" / "gw_collector.lua"
SERVER = SUPPORT / "azerothcore_server.lua"
STEPS = {"limit", "freeze", "isolate", "challenge", "kick"}
OUTCOMES = {"done", "offline", "busy", "refused"}
HOSTILE = "1.2.3.4'),(\\\"\r\n\x1a'); --"
LUA = shutil.which("lua5.2")
needs_lua = pytest.mark.skipif(LUA is None, reason="Lua is not installed: apt-get install lua5.2")


def name_of(path):
    return str(path.relative_to(INTEGRATIONS))


def played(scene, *more):
    """The statements that the collector gives a server in which this happens."""
    done = subprocess.run([LUA, SERVER, COLLECTOR, scene, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def filled(expression):
    """The text of a script's expression, with 1 for whatever the game puts in."""
    first = re.match(r'(?:"[^"]*"|\((?:"[^"]*"|[^()"]|\([^()]*\))*\)|[^,"()])*', expression)[0]
    return re.sub(
        r'"([^"]*)"|([^"]+)',
        lambda part: part[1] if part[1] is not None else " 1 " * bool(re.search(r"\w", part[2])),
        first,
    )


def statements_of(script):
    """The statements of an NPC script; that of a batch has one row."""
    text = re.sub(r', "[^"]*"\)', ")", script.read_text())  # getarg(1, "NULL"), implode(.@id$, ",")
    rows = re.findall(r'\.values\$ \+= \(\.rows \? "," : ""\) \+ (.*?);\n', text, re.DOTALL)
    for call in re.findall(r"query_logsql\((.*?)\);\n", text, re.DOTALL):
        statement = filled(call)
        yield statement.removesuffix(" 1 ") + filled(rows[0]) if call.endswith(".@values$") else statement


@pytest.fixture
def tables(mariadb, mariadb_server):
    """The name of a database with our two tables."""
    name = database_of(mariadb)
    mariadb_server.script((INTEGRATIONS / "tables.sql").read_text(), name)
    return name


@needs_lua
def test_the_lua_collector_writes_what_happened(tables, mariadb_server):
    for statement in played("everything"):
        mariadb_server.execute(statement, tables)
    rows = mariadb_server.execute(
        "SELECT kind, actor, `character`, zone, x, y, level, target, item, amount, other, ip"
        " FROM gw_events ORDER BY id",
        tables,
    )

    at = (1.2, -2.5)
    assert rows == [
        ("session.login", 11, 101, "12", *at, 7, None, None, None, None, "192.0.2.1"),
        ("zone.enter", 11, 101, "40", *at, 7, None, None, None, None, None),
        ("combat.kill", 11, 101, "12", *at, 7, "299", None, None, None, None),
        ("loot.pickup", 11, 101, "12", *at, 7, None, "2589", 3, None, None),
        ("currency.gain", 11, 101, "12", *at, 7, None, None, 45, None, None),
        ("level.up", 11, 101, "12", *at, 8, None, None, None, None, None),
        ("combat.death", 11, 101, "12", *at, 8, "300", None, None, None, None),
        ("combat.kill", 12, 102, "12", *at, 7, None, None, None, 11, None),
        ("combat.death", 11, 101, "12", *at, 8, None, None, None, 12, None),
        ("session.logout", 11, 101, "12", *at, 8, None, None, None, None, None),
    ]


@needs_lua
def test_hostile_text_stays_text(tables, mariadb_server):
    (statement,) = played("hostile", HOSTILE)
    mariadb_server.execute(statement, tables)

    assert mariadb_server.execute("SELECT actor, ip FROM gw_events", tables) == [(12, HOSTILE)]


@needs_lua
def test_rows_go_in_batches_and_the_rest_when_the_server_stops(tables, mariadb_server):
    statements = played("kills")
    for statement in statements:
        mariadb_server.execute(statement, tables)

    assert [statement.count("'combat.kill'") for statement in statements] == [100, 100, 50]
    times = [at for (at,) in mariadb_server.execute("SELECT at FROM gw_events ORDER BY id", tables)]
    assert [later - at for at, later in pairwise(times)].count(10) >= 246, "one jump a second at most"
    assert all(abs(at - (1790000000250 + 10 * (n + 1))) < 1000 for n, at in enumerate(times))


@needs_lua
def test_only_who_has_moved_has_moved():
    (statement,) = [line for line in played("walk") if "'move'" in line]

    assert statement.count("'move'") == 1
    assert ",11,101,'move','12',5.0,-2.5," in statement


@needs_lua
def test_a_row_waits_for_five_seconds_at_the_most():
    before, after = "\n".join(played("waits")).split("-- four seconds")

    assert "combat.kill" not in before
    assert "combat.kill" in after


@pytest.mark.parametrize("script", NPC_SCRIPTS, ids=name_of)
def test_mariadb_takes_every_statement_of_an_npc_script(script, tables, mariadb_server):
    statements = list(statements_of(script))
    with mariadb_server.connected(tables) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)

    assert len(statements) == script.read_text().count("query_logsql(") > 0


@pytest.mark.parametrize("script", [*NPC_SCRIPTS, COLLECTOR], ids=name_of)
def test_the_kinds_of_a_script_are_ours(script):
    kinds = re.findall(r'(?:L_Note,|L_Challenged,|note\(\w+,) "([^"]*)"', script.read_text())

    assert kinds or script.parts[-2:] == ("hercules", "gw_poller.txt"), "it writes no events"
    assert set(kinds) <= set(RESERVED_KINDS)


@pytest.mark.parametrize("script", NPC_SCRIPTS, ids=name_of)
def test_a_name_is_in_no_statement_and_other_text_is_escaped(script):
    text = script.read_text()

    assert not re.findall(r"(?:query_logsql|\.values\$).*(?:strcharinfo|rid2name|name\$)", text)
    assert len(re.findall(r"\.@map\$ \+ \"'|getcharip\(\) \+", text)) == 0, "without escape_sql"


@pytest.mark.parametrize("poller", sorted(INTEGRATIONS.glob("*/gw_poller.txt")), ids=name_of)
def test_a_poller_knows_the_steps_and_outcomes_of_the_table(poller):
    text = poller.read_text()
    table = (INTEGRATIONS / "tables.sql").read_text()

    assert set(re.findall(r'step\$(?:\[\.@i\])? [!=]= "(\w+)"', text)) <= STEPS
    assert set(re.findall(r'return "(\w+)"', text)) <= OUTCOMES
    for words in (STEPS, OUTCOMES):
        assert any(words == set(re.findall(r"\w+", line.partition("-- ")[2])) for line in table.splitlines())


def test_the_readme_names_every_file():
    page = README.read_text(encoding="utf-8")
    files = [path for path in INTEGRATIONS.rglob("*") if path.is_file() and path != README]

    assert not [name_of(path) for path in files if name_of(path) not in page]
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page):
        assert (INTEGRATIONS / target).exists(), target


def test_the_source_distribution_has_the_integrations():
    assert re.search(r'include = \[.*"integrations"', (ROOT / "pyproject.toml").read_text())
