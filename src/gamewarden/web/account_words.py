"""Words of an account's page in the reader's language: sentences rest in English, others are made of the numbers."""

import shlex
from datetime import datetime
from zoneinfo import ZoneInfo

from gamewarden.core.outside import visible
from gamewarden.desk.reasons import Fact, ReasonTopic
from gamewarden.web.languages import N_, Language
from gamewarden.web.sentences import told

# What a number is called, by its feature.
_NAMES = {
    "events": N_("events"),
    "self_sim": N_("self-similarity"),
    "cosim_count": N_("minutes with an event"),
    "cosim_uniq_count": N_("different minutes"),
    "cosim_zero_count": N_("minutes online without an event"),
    "cosim_mode": N_("how often the most frequent minute comes back"),
    "total_log_count": N_("log entries"),
    "main_char_level": N_("level"),
    "total_use_time_min": N_("minutes played"),
    "npc_kill_count": N_("kills"),
    "trade_get_count": N_("trades received"),
    "trade_give_count": N_("trades given"),
    "retrieve_count": N_("withdrawals from storage"),
    "deposit_count": N_("deposits into storage"),
    "log_count_per_min": N_("log entries a minute"),
    "packets_per_s": N_("messages a second"),
    "move_dx": N_("cells moved along x"),
    "move_dy": N_("cells moved along y"),
    "move_distance": N_("cells moved at a time"),
    "move_gap_ms": N_("milliseconds between two moves"),
    "take_gap_ms": N_("milliseconds between two pick-ups"),
    "turn_to_take_ms": N_("milliseconds from turning to picking up"),
    "attack_to_take_ms": N_("milliseconds from the attack to picking up"),
    "continuous_attacks_per_s": N_("continuous attacks a second"),
    "turn_mean_deg": N_("mean turn in degrees"),
    "turn_circular_variance": N_("circular variance of turns"),
    "turn_back_share": N_("share of turns back"),
    "once_attacks_per_s": N_("single attacks a second"),
    "lengths": N_("long packets of a window"),
    "interarrival": N_("pauses between the packets of a window"),
    "autocorrelation": N_("parts of a window whose packet lengths alternate"),
}
# By how the name of a number begins; the rest of it is the log's own word.
_BEGINNINGS = {
    "a_": N_("how often it does %(what)s"),
    "done_": N_("whether it does %(what)s"),
    "i_": N_("pauses of %(what)s seconds"),
    "m_": N_("time from one %(what)s to the next"),
    "d_": N_("variation of the time from one %(what)s to the next"),
    "pace_actions": N_("logarithm of its actions in a chunk of play"),
    "pace_": N_("share of intervals shorter than %(what)s"),
}
_TOPICS = (
    N_("How it repeats itself"),
    N_("How much it plays"),
    N_("How much it does"),
    N_("What it hunts"),
    N_("What it trades and stores"),
    N_("How much it sends"),
    N_("How it moves"),
    N_("How it fights and loots"),
    N_("What it does"),
    N_("What else it does"),
    N_("How long it waits"),
    N_("How regularly it acts"),
    N_("How fast it acts"),
)
_PROFILE = {
    "name": N_("Name"),
    "server": N_("Server"),
    "class": N_("Class"),
    "main_character": N_("Main character"),
    "level": N_("Level"),
    "first_login": N_("First login"),
    "customer_grade": N_("Customer grade"),
    "ticket": N_("Ticket"),
    "payment": N_("Payment"),
    "guard_pattern": N_("Client guard pattern"),
}
_DIGITS = 4


def sentence(fact: Fact, language: Language) -> str:
    """A reason as the reader reads it."""
    said = told(fact.says, language)
    if language.code == "en" or said != fact.says:
        return said
    name = feature_name(fact.feature, language)
    if fact.value is None:
        return language.text(N_("%(name)s: not measured.")) % {"name": name}
    value = number(fact.value, language)
    if fact.typical is None:
        return language.text(N_("%(name)s: %(value)s.")) % {"name": name, "value": value}
    words = {"name": name, "value": value, "typical": number(fact.typical, language)}
    return language.text(N_("%(name)s: %(value)s; a usual person has %(typical)s.")) % words


def feature_name(feature: str, language: Language) -> str:
    """What a number is called."""
    if feature in _NAMES:
        return language.text(_NAMES[feature])
    for beginning, name in _BEGINNINGS.items():
        if feature.startswith(beginning):
            return language.text(name) % {"what": feature.removeprefix(beginning)}
    return feature.replace("_", " ")


def topic_name(topic: ReasonTopic, language: Language) -> str:
    """What a topic is called."""
    return language.text(topic.topic) if topic.topic in _TOPICS else topic.topic


def number(value: float, language: Language) -> str:
    """A number with as many digits as tell it apart."""
    return language.number(float(f"{value:.{_DIGITS}g}") if abs(value) < 1 else round(value, 2))


def profile_name(column: str, language: Language) -> str:
    """What a column of profiles is called; the operator's own columns keep their names."""
    return language.text(_PROFILE[column]) if column in _PROFILE else column.replace("_", " ")


def quoted(actor: str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(actor)


def clock(moment: datetime, zone: str) -> str:
    """A time of day to the millisecond."""
    return visible(f"{moment.astimezone(ZoneInfo(zone)):%H:%M:%S.%f}"[:-3])
