"""Tiers, costs, hypothesis profiles, database servers and ledgers of all tests.

`pytest` runs the first tier; `pytest -m integration` and `pytest -m nightly` the others (CONTRIBUTING.md).
What is heavy is imported by the fixture that needs it, so that one file runs in seconds.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

import mariadb_server as mariadb_servers
import postgres_server as postgres_servers
from costs import Costs
from shared import forget_older_states

# No deadlines: the machine may be busy. The first tier and CI try the same examples every time.
for tier, examples in {"first": 25, "integration": 200, "nightly": 2000}.items():
    settings.register_profile(
        tier,
        max_examples=examples,
        deadline=None,
        derandomize=tier == "first" or bool(os.environ.get("CI")),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
settings.load_profile("first")
SERVERS = {"mariadb", "mariadb_server", "postgres", "postgres_server"}


def pytest_configure(config):
    config.pluginmanager.register(Costs())


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        forget_older_states()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs a database server."""
    for item in items:
        if SERVERS.intersection(item.fixturenames):
            item.add_marker(pytest.mark.integration)


def pytest_make_parametrize_id(val, argname):
    """Name bytes by their argument, not by their content: packed data carry the time they were packed at."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of this test process."""
    with postgres_servers.served() as server:
        yield server


@pytest.fixture
def postgres(postgres_server):
    """The URL of an empty database of a real PostgreSQL."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)


@pytest.fixture(scope="session")
def mariadb_server():
    """A MariaDB of this test process."""
    with mariadb_servers.served() as server:
        yield server


@pytest.fixture
def mariadb(mariadb_server):
    """The URL of an empty database of a real MariaDB."""
    url = mariadb_server.new_database()
    yield url
    mariadb_server.drop(url)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.integration)])
def place(request, tmp_path):
    """Where a ledger can be made: a file, and a database of a server."""
    return tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def ledger(place):
    """An empty ledger."""
    from gamewarden.store.ledger.ledger import Ledger

    made = Ledger.at(place)
    yield made
    made.close()


@pytest.fixture
def quick_passwords(monkeypatch):
    """Digests of the same kind as ours, with parameters that take no time."""
    from argon2 import PasswordHasher

    from gamewarden.desk import passwords

    quick = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: quick)
    passwords._nobodys.cache_clear()
    yield quick
    passwords._nobodys.cache_clear()
