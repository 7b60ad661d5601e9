"""Commands in a process of their own that may use little: whoever needs more is ended."""

import os
import subprocess
import sys

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from gamewarden.cli import main
sys.argv = ["gamewarden", *sys.argv[1:]]
main()
"""


def limited(*words):
    """A command with 30 seconds of processor time and 2 GB of memory."""
    command = [sys.executable, "-c", LIMITED, *map(str, words)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
