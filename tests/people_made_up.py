"""People of a desk for tests: passwords that are quick to look at (the fixture `quick_passwords`, from conftest.py)."""

import pytest
from argon2 import PasswordHasher

from gamewarden.desk import passwords


@pytest.fixture
def quick_passwords(monkeypatch):
    """Digests of the same kind as ours, with parameters that take no time."""
    quick = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: quick)
    passwords._nobodys.cache_clear()
    yield quick
    passwords._nobodys.cache_clear()
