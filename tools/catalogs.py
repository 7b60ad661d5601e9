"""Bring the catalogs of the desk's languages up to date with its templates; what has no translation yet is told.

python tools/catalogs.py              # src/gamewarden/web/locale/ko.po: new texts are added, unused ones go
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from web_texts import WEB, texts  # the test of the catalogs finds them in the same way

LANGUAGES = ("ko",)
_HEADER = "# The texts of the desk; python tools/catalogs.py adds new ones."
# Neither names nor today: who wrote what, and when, is in the history of the repository.
_NOBODY = {
    "msgid_bugs_address": "gamewarden",
    "last_translator": "gamewarden",
    "language_team": "gamewarden",
    "version": "0",
}
_BEGAN = datetime(2026, 11, 17, tzinfo=UTC)


def main() -> None:
    """Write each catalog anew."""
    for code in LANGUAGES:
        path = WEB / "locale" / f"{code}.po"
        known = _known(path, code)
        made = Catalog(
            locale=code,
            project="gamewarden",
            fuzzy=False,
            header_comment=_HEADER,
            creation_date=_BEGAN,
            revision_date=_BEGAN,
            **_NOBODY,
        )
        missing = []
        for message, places in sorted(texts().items(), key=lambda one: str(one[0])):
            told = known.get(message)
            made.add(message, told, locations=[(place, 0) for place in sorted(places)])
            if not told or (isinstance(told, tuple) and not all(told)):
                missing.append(message)
        with path.open("wb") as file:
            write_po(file, made, width=120, include_lineno=False, omit_header=False)
        print(f"{path.name}: {len(texts())} texts, {len(missing)} without a translation")  # noqa: T201
        for message in missing:
            print(f"  {message!r}")  # noqa: T201


def _known(path: Path, code: str) -> dict[object, object]:
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return {message.id: message.string for message in read_po(file, locale=code) if message.id}


if __name__ == "__main__":
    main()
