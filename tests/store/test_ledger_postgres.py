"""The PostgreSQL that tests use is their own, and what a ledger promises holds on it."""

import os
from pathlib import Path


def test_the_server_has_no_port_and_each_test_an_empty_database(postgres_server, postgres):
    assert postgres_server.execute("SHOW listen_addresses") == [("",)]
    name = postgres.partition("?")[0].rpartition("/")[2]
    assert postgres_server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name) == [(0,)]


def test_the_server_is_not_run_by_root(postgres_server):
    assert Path(f"/proc/{postgres_server.pid}").stat().st_uid == (65534 if os.geteuid() == 0 else os.geteuid())


def test_a_server_that_was_killed_starts_again_with_what_it_had_acknowledged(postgres_server):
    name = postgres_server.new_database().partition("?")[0].rpartition("/")[2]
    postgres_server.execute("CREATE TABLE numbers (number integer)", name)
    postgres_server.execute("INSERT INTO numbers VALUES (1)", name)

    postgres_server.kill()
    postgres_server.start()

    assert postgres_server.execute("SELECT number FROM numbers", name) == [(1,)]
