"""The Korean of the desk: every text has its own, with the same places to fill."""

import re

from babel.messages.pofile import read_po

from gamewarden.web import languages
from web_texts import texts


def test_every_text_stands_in_the_korean_catalog():
    with (languages.CATALOGS / "ko.po").open("rb") as file:
        known = {message.id: message for message in read_po(file, locale="ko")}

    missing = [one for one in texts() if one not in known or not known[one].string or known[one].fuzzy]
    assert not missing, f"{len(missing)} texts have no Korean, such as {missing[:5]}"


def test_translations_have_the_same_places_to_fill():
    with (languages.CATALOGS / "ko.po").open("rb") as file:
        for message in read_po(file, locale="ko"):
            ids = message.id if isinstance(message.id, tuple | list) else (message.id,)
            strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
            wanted = set(re.findall(r"%\((\w+)\)", ids[-1]))
            for text in filter(None, strings):
                assert set(re.findall(r"%\((\w+)\)", text)) <= wanted, message.id
                assert set(re.findall(r"%(?!\(|%)", text.replace("%%", ""))) == set(), message.id
