"""What steps are called in the reader's language, on every page that names one."""

from collections.abc import Mapping

from gamewarden.desk.acts import DISMISS
from gamewarden.policy import BAN, CHALLENGE, FREEZE, HOLD, ISOLATE, LIMIT, REVIEW, SUSPEND, WATCH
from gamewarden.web.languages import N_, Language

STEP_NAMES: Mapping[str, str] = {
    WATCH: N_("watch"),
    REVIEW: N_("review by a person"),
    LIMIT: N_("limit"),
    CHALLENGE: N_("challenge"),
    FREEZE: N_("freeze"),
    ISOLATE: N_("isolate"),
    HOLD: N_("hold"),
    SUSPEND: N_("suspend"),
    BAN: N_("ban"),
    DISMISS: N_("dismiss"),
}


def step_name(step: str, language: Language) -> str:
    """A step by its name; whatever else it is, as it is."""
    return language.text(STEP_NAMES[step]) if step in STEP_NAMES else step
