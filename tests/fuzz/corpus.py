"""Cases as files: what was found is kept, and what was found once is tried for ever (`seeds/`)."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from fuzz.case import Case

SEEDS = Path(__file__).parent / "seeds"
_WORDS = "words.json"


def keep(place: Path, name: str, case: Case) -> Path:
    """Write a case below a place: its words, and its files beside them."""
    home = place / name.replace(":", "/")
    shutil.rmtree(home, ignore_errors=True)
    for file, data in case.files.items():
        (home / "files" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / "files" / file).write_bytes(data)
    home.mkdir(parents=True, exist_ok=True)
    (home / _WORDS).write_text(json.dumps(list(case.words)) + "\n", encoding="utf-8")
    return home


def kept(which: str, place: Path = SEEDS) -> Case:
    """A case that was kept."""
    home = place / which
    files = {
        str(path.relative_to(home / "files")): path.read_bytes()
        for path in sorted((home / "files").rglob("*"))
        if path.is_file()
    }
    return Case(json.loads((home / _WORDS).read_text(encoding="utf-8")), files)


def seeds(place: Path = SEEDS) -> Iterator[str]:
    """All that are kept, as FORMAT/NAME."""
    for path in sorted(place.rglob(_WORDS)):
        yield str(path.parent.relative_to(place))
