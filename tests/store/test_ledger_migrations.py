"""The tables that migrations make are those that the code knows, on both databases."""

from dataclasses import replace

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from gamewarden.cases import Decision
from gamewarden.desk_records import Review, User
from gamewarden.store.ledger.engines import WRITES, engine_of
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.ledger.schema import METADATA
from gamewarden.store.ledger.versions import NEWEST, VERSIONS, alembic_config, migrate
from ledgers_made_up import AT, decision


def test_a_migrated_database_has_the_tables_that_the_code_knows(ledger):
    with ledger.engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "version_table": VERSIONS}
        context = MigrationContext.configure(connection, opts=options)

        assert compare_metadata(context, METADATA) == []
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, VERSIONS}


def test_the_newest_version_is_that_of_the_newest_migration(ledger):
    with ledger.engine.connect() as connection:
        scripts = ScriptDirectory.from_config(alembic_config(connection))

        assert scripts.get_heads() == [NEWEST]
        assert [one.revision for one in scripts.walk_revisions()][-1] == "001"


def test_an_empty_database_is_brought_up_to_date_once(place):
    engine = engine_of(place)

    assert migrate(engine, "ledger") is True
    assert migrate(engine, "ledger") is False
    engine.dispose()


def test_opening_a_ledger_again_changes_nothing(place):
    Ledger.at(place).close()
    ledger = Ledger.at(place)

    assert ledger.head == (0, "")
    ledger.close()


def test_a_ledger_of_the_first_version_gets_the_tables_of_the_desk_and_keeps_its_records(place):
    engine = engine_of(place)
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        command.upgrade(alembic_config(connection), "001")
    with Ledger(engine, "ledger").writing("gm", AT) as work:
        work.add([decision(1)])

    assert migrate(engine, "ledger") is True
    ledger = Ledger.at(place)
    assert ledger.find(Decision) == [decision(1)]
    assert ledger.find(User) == ledger.find(Review) == []
    assert list(ledger.audit_faults()) == []
    ledger.close()
    engine.dispose()


def test_of_votes_of_an_older_ledger_nobody_knows_whether_chance_drew_the_account(place):
    engine = engine_of(place)
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        command.upgrade(alembic_config(connection), "002")
        said = "(id, actor, rater, at, says, score_seen, milliseconds) VALUES ('r1', 'anna', 'gm', 7, 'bot', true, 900)"
        connection.execute(text("INSERT INTO reviews " + said))

    assert migrate(engine, "ledger") is True
    ledger = Ledger.at(place)
    (old,) = ledger.find(Review)
    with ledger.writing("gm", AT) as work:
        work.change(old, replace(old, drawn=True))
    assert (old.actor, old.says, old.milliseconds, old.drawn) == ("anna", "bot", 900, None)
    assert [one.drawn for one in ledger.find(Review)] == [True]
    assert list(ledger.audit_faults()) == ["reviews r1: no line of the audit added it"]
    ledger.close()
    engine.dispose()
