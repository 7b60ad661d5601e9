"""How properties are tried: without a clock (the machine may be busy), and in CI the same examples every time."""

import os

from hypothesis import settings

settings.register_profile("gamewarden", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("gamewarden")


def pytest_make_parametrize_id(val, argname):
    """Bytes are named by their place, not by what they hold: packed data carry the time they were packed at."""
    return argname if isinstance(val, bytes) else None
