"""Accounts of game servers in a real MariaDB: barred, given back exactly as they were, and never by a name's trick."""
# ruff: noqa: S608  names of our own tables

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from carrying_made_up import LATER, NOON, decided, office
from games_made_up import EVIL, KINDS, Server, Servers
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of, ways_of
from mariadb_server import database_of
from paths import DOCS

END = datetime(2035, 1, 1, tzinfo=UTC)
STEPS = ("hold", "suspend", "ban")
PAGE = DOCS / "how-to" / "carry-decisions-out.md"


@pytest.fixture(scope="module")
def servers(mariadb_server):
    made = Servers(mariadb_server)
    yield made
    made.drop()


@pytest.fixture(params=KINDS)
def server(request, servers, monkeypatch):
    one = servers.of(request.param)
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", one.url)
    return one


def settings(server):
    return AdapterSettings("accounts", server.name, account=server.kind.name)


def ann(server):
    return server.of(server.kind.ann, server.kind.name)[0]


def action(step, actor, verb="do", **values):
    return Action(f"{verb}-{step}", "d1", actor, verb, step, "accounts", "begun", NOON, until=END, **values)


def carried(adapter, one):
    one = replace(one, before=adapter.look(one))
    adapter.carry(one)
    return one


def is_barred(server, number):
    """Whether the server lets nobody in."""
    if server.kind.account == "login":
        state, unban_time = server.of(number, "state", "unban_time")
        return state != 0 or unban_time > END.timestamp() - 1
    if server.name == "eqemu":
        return server.of(number, "status")[0] < 0
    active = "active = 1 AND (bandate = unbandate OR unbandate > UNIX_TIMESTAMP())"
    return bool(server.run(f"SELECT 1 FROM account_banned WHERE id = :number AND {active}", number=number))


def bar(server, number, step):
    """What a game master did before: an older one, shorter than ours."""
    if server.kind.account == "login":
        server.set(number, state=3, unban_time=1_900_000_000)
    elif server.name == "eqemu":
        server.set(number, status=-1, suspendeduntil="2029-03-04 05:06:07", suspend_reason="spämmer", ban_reason=None)
    else:
        values = "(:n, 100, 200, 'gm', 'old', 0), (:n, 300, 1900000000, 'gm', :s, 1)"
        server.run(f"INSERT INTO account_banned VALUES {values}", n=number, s=step)
    server.forget_changes()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("barred_before", [False, True])
def test_a_step_and_its_way_back_leave_the_database_exactly_as_before(server, tmp_path, step, barred_before):
    if barred_before:
        bar(server, server.kind.ann, step)
    before = server.everything()
    adapter = adapter_of(settings(server), tmp_path)
    done = carried(adapter, action(step, ann(server)))

    assert is_barred(server, server.kind.ann)
    assert server.everything() != before
    adapter.carry(replace(done, verb="undo"))
    assert server.everything() == before


@pytest.mark.parametrize("verb", ["do", "undo"])
@pytest.mark.parametrize("step", STEPS)
def test_the_same_action_twice_has_one_effect(server, tmp_path, step, verb):
    adapter = adapter_of(settings(server), tmp_path)
    done = carried(adapter, action(step, ann(server)))
    adapter.carry(replace(done, verb=verb))
    changes = server.changes()
    adapter.carry(replace(done, verb=verb))

    assert server.changes() == changes == (1 if verb == "do" else 2)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overlapping_steps_are_taken_back_in_any_order_and_leave_what_was_there(server, tmp_path, order):
    bar(server, server.kind.ann, "old")
    before = server.everything()
    desk = office(tmp_path, ways_of([settings(server)], tmp_path))
    decisions = [
        decided(ann(server), step, "eve", at=NOON + timedelta(minutes=place), until=END)
        for place, step in enumerate(STEPS)
    ]
    for one in decisions:
        desk.decide(one)
        desk.carry(LATER)
    for place in order:
        assert is_barred(server, server.kind.ann)
        desk.undo(decisions[place])
        desk.carry(LATER)

    assert {one.state for one in desk.ledger.find(Action, verb="undo")} == {"done"}
    assert server.everything() == before
    desk.ledger.close()


@pytest.mark.parametrize(
    "name",
    ["nobody", "a'; DROP TABLE login; --", "' OR '1'='1", "aNN", "", "%", "x" * 10_000, "ann\0", "ann ", "ann\n.ban"],
)
def test_a_name_that_no_account_has_touches_nothing(server, tmp_path, name):
    before = server.everything()
    with pytest.raises(RefusedError) as refused:
        carried(adapter_of(settings(server), tmp_path), action("ban", name))

    assert "\n" not in str(refused.value)
    assert server.everything() == before


@pytest.mark.parametrize(
    "name", ["ann", "-1", "1 OR 1=1", "99999999999999999999", "٢", "2e6", "4294967297", "02000000", "010", "020", ""]
)
def test_a_number_that_no_account_has_touches_nothing(server, tmp_path, name):
    with pytest.raises(RefusedError):
        carried(adapter_of(replace(settings(server), account="account_id"), tmp_path), action("ban", name))

    assert server.changes() == 0


@pytest.mark.parametrize("by", ["name", "number"])
def test_an_account_with_a_name_full_of_sql_is_an_account_like_any_other(server, tmp_path, by):
    before = server.everything()
    number = server.number_of(EVIL)
    one = settings(server) if by == "name" else replace(settings(server), account="account_id")
    adapter = adapter_of(one, tmp_path)
    done = carried(adapter, action("ban", EVIL if by == "name" else str(number)))

    assert is_barred(server, number)
    assert server.changes() == 1
    adapter.carry(replace(done, verb="undo"))
    assert server.everything() == before


@pytest.mark.parametrize("step", STEPS)
def test_staff_is_never_touched(server, tmp_path, step):
    for name in server.kind.staff:
        with pytest.raises(RefusedError, match="it is never touched"):
            carried(adapter_of(settings(server), tmp_path), action(step, name))

    assert server.changes() == 0


def test_who_joined_the_staff_meanwhile_is_not_touched_either(server, tmp_path):
    adapter = adapter_of(settings(server), tmp_path)
    one = action("ban", ann(server))
    one = replace(one, before=adapter.look(one))
    promote(server, server.kind.ann)
    with pytest.raises(RefusedError, match="it is never touched"):
        adapter.carry(one)

    assert not is_barred(server, server.kind.ann)


def promote(server, number):
    if server.kind.account == "login":
        server.set(number, group_id=10)
    elif server.name == "eqemu":
        server.set(number, status=100)
    else:
        server.run("INSERT INTO account_access VALUES (:n, 2, -1, '')", n=number)


@pytest.mark.parametrize("step", ["hold", "ban"])
def test_what_somebody_else_wrote_since_is_left_alone(server, tmp_path, step):
    adapter = adapter_of(settings(server), tmp_path)
    done = carried(adapter, action(step, ann(server)))
    ban_again(server, server.kind.ann)
    theirs = server.everything()

    assert "somebody else" in adapter.carry(replace(done, verb="undo"))["left"]
    with pytest.raises(RefusedError, match="somebody else"):
        adapter.carry(replace(done, decision="d2"))
    assert server.everything() == theirs


def ban_again(server, number):
    """What a game master does by hand, as the server would."""
    if server.kind.account == "login":
        server.set(number, state=7)
    elif server.name == "eqemu":
        server.set(number, status=-2, ban_reason="I know him")
    else:
        server.run("UPDATE account_banned SET active = 0 WHERE id = :n", n=number)
        server.run("INSERT INTO account_banned VALUES (:n, 4000000000, 4000000000, 'gm', 'I know him', 1)", n=number)


def test_what_somebody_else_wrote_between_looking_and_writing_is_left_alone(server, tmp_path):
    adapter = adapter_of(settings(server), tmp_path)
    one = action("ban", ann(server))
    one = replace(one, before=adapter.look(one))
    ban_again(server, server.kind.ann)
    theirs = server.everything()
    with pytest.raises(RefusedError, match="somebody else"):
        adapter.carry(one)

    assert server.everything() == theirs


def test_a_suspension_never_ends_an_older_one_early(server, tmp_path):
    bar(server, server.kind.ann, "old")
    before = server.everything()
    adapter = adapter_of(settings(server), tmp_path)
    short = replace(action("suspend", ann(server)), until=datetime(2028, 1, 1, tzinfo=UTC))
    done = carried(adapter, short)

    assert server.everything() == before
    adapter.carry(replace(done, verb="undo"))
    assert server.everything() == before
    assert server.changes() == 0


def test_a_suspension_without_an_end_is_refused(server, tmp_path):
    with pytest.raises(RefusedError, match="needs an end"):
        adapter_of(settings(server), tmp_path).look(replace(action("suspend", ann(server)), until=None))


def test_an_account_that_is_renamed_is_still_given_back(server, tmp_path):
    before = server.everything()
    adapter = adapter_of(settings(server), tmp_path)
    done = carried(adapter, action("ban", ann(server)))
    adapter.carry(replace(done, verb="undo", actor="SOMEBODY"))

    assert server.everything() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_without_accounts_is_asked_again_later(mariadb, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", mariadb)
    server = Server(mariadb, kind)
    with pytest.raises(TryLaterError, match=f"accounts: the game's database: .*{server.kind.account}"):
        adapter_of(settings(server), tmp_path).look(action("ban", "ann"))


@pytest.mark.parametrize("url", ["", "nothing", "oracle://me:word@host/x", "mysql://me:word@h:port/x", "sqlite:///x"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_url_that_is_none_is_refused_without_its_password(tmp_path, monkeypatch, url, kind):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", url)
    with pytest.raises(ConfigError, match="GAMEWARDEN_GAME_DB") as refused:
        adapter_of(AdapterSettings("accounts", kind), tmp_path)

    assert "word" not in str(refused.value).replace("user:password", "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "text"), [({"account": "email"}, "is no column"), ({"steps": ("watch",)}, "cannot")]
)
def test_what_a_server_does_not_have_is_refused(tmp_path, monkeypatch, kind, change, text):
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", "mysql://me@127.0.0.1:1/game")
    with pytest.raises(ConfigError, match=text):
        adapter_of(replace(AdapterSettings("accounts", kind), **change), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rights_that_the_page_names_are_enough(servers, mariadb_server, tmp_path, monkeypatch, kind):
    server = servers.of(kind, *(("poller", "panel") if KINDS[kind].account == "login" else ()))
    database = database_of(server.url)
    user = f"warden_{database}"
    mariadb_server.execute(f"CREATE USER {user}@localhost")
    for grant in grants_of(server):
        mariadb_server.execute(
            grant.replace("game.", f"{database}.").replace("gamewarden@localhost", f"{user}@localhost")
        )
    monkeypatch.setenv("GAMEWARDEN_GAME_DB", mariadb_server.url(database, user))
    before = server.everything()
    adapter = adapter_of(replace(settings(server), steps=steps_of(server)), tmp_path)
    for step in adapter.steps:
        done = carried(adapter, replace(action(step, ann(server)), decision=step))
        adapter.carry(replace(done, verb="undo", id=f"undo-{step}"))

    assert server.everything() == before
    mariadb_server.execute(f"DROP USER {user}@localhost")


def steps_of(server):
    return (*STEPS, "limit", "challenge", "freeze", "isolate") if server.kind.account == "login" else STEPS


def grants_of(server):
    """The statements on the page for the tables of this server."""
    family = {"hercules": "rathena", "trinitycore": "azerothcore"}.get(server.name, server.name)
    (block,) = re.findall(rf"```sql\n-- {family}\b[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.strip().rstrip(";") for line in block.splitlines() if line.startswith("GRANT")]
