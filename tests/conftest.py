"""How properties are tried: without a clock (the machine may be busy), and in CI the same examples every time."""

import os

import pytest
from hypothesis import settings

import mariadb_server as mariadb_servers
import postgres_server as postgres_servers
from ledgers_made_up import ledger, place  # noqa: F401  fixtures
from people_made_up import quick_passwords  # noqa: F401  a fixture

settings.register_profile("gamewarden", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("gamewarden")


def pytest_make_parametrize_id(val, argname):
    """Bytes are named by their place, not by what they hold: packed data carry the time they were packed at."""
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
