"""Commands in an environment of its own, one after the other in one process: what each said, as JSON."""

import json
import sys
from dataclasses import asdict

from commands import run

if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(run(*command)) for command in json.load(sys.stdin)]))
