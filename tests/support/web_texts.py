"""The texts of the desk's templates and scripts as gettext finds them."""

from pathlib import Path

from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir

import gamewarden.web

WEB = Path(gamewarden.web.__file__).parent
_OPTIONS = {"**.html": {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}}
_METHODS = [("**.html", "jinja2"), ("**.py", "python")]


def texts():
    """Every text (a pair where it has a plural) and the files that show it."""
    found = {}
    keywords = {**DEFAULT_KEYWORDS, "N_": None, "text": None}
    for place, _, message, _, _ in extract_from_dir(str(WEB), _METHODS, _OPTIONS, keywords=keywords):
        if message:
            found.setdefault(message, set()).add(place)
    return found
