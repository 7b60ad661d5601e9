"""How properties are tried: without a clock (the machine may be busy), and in CI the same examples every time."""

import os

from hypothesis import settings

settings.register_profile("gamewarden", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("gamewarden")
