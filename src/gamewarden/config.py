"""warden.toml as frozen dataclasses: every number of policy, a sentence each."""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gamewarden.core.durations import parse_span, parse_zone
from gamewarden.core.sizes import parse_size
from gamewarden.errors import ConfigError, short
from gamewarden.policy import (
    ADAPTER_KINDS,
    FEWEST_FAMILIES,
    LADDER,
    LOG_ADAPTER,
    SANCTIONS,
    STEPS,
    AdapterSettings,
    AppealSettings,
    ChallengeSettings,
    Response,
    Rung,
)
from gamewarden.policy import setting as _setting

FILE_NAME = "warden.toml"


@dataclass(frozen=True)
class Read:
    """How sources are read."""

    time_zone: str = _setting(
        "",
        "The time zone (IANA name) of local times and of the days; empty refuses such times, and days are the lake's.",
    )
    max_bad_share: float = _setting(0.01, "The share of bad rows above which a source is refused as a whole.")
    earliest: str = _setting("1995-01-01", "Events dated before this are bad rows.")
    latest: str = _setting("", "Events dated after this are bad rows; empty means a day ahead of the clock at reading.")


@dataclass(frozen=True)
class Privacy:
    """Which identifiers of players a lake keeps only as keyed digests."""

    hash: str = _setting("", "Columns of events such as ip, session that are hashed before a lake has them.")
    key_from: str = _setting(
        "GAMEWARDEN_KEY", "The environment variable with the key of these digests; another key needs a new lake."
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to be hashed."""
        return tuple(name.strip() for name in self.hash.split(",") if name.strip())


@dataclass(frozen=True)
class Measure:
    """How self-similarity is measured where a command says nothing else."""

    unit: str = _setting("60s", "The length of one window.")
    every: str = _setting("1d", "The length of one period: what is scored at once.")
    min_windows: int = _setting(30, "Fewer windows than this are too little evidence for a self-similarity.")
    min_events: int = _setting(30, "Fewer events than this are too little evidence for it.")
    min_active: int = _setting(10, "Fewer windows with an event than this are too little evidence for it.")


@dataclass(frozen=True)
class Coverage:
    """Which periods count as whole."""

    least: float = _setting(
        0.9, "Periods of which the source covers less than this share are not scored or learned from; 0 takes all."
    )


@dataclass(frozen=True)
class Origin:
    """How much a log and the one a model learned from must have in common before the model judges it."""

    known: float = _setting(0.8, "At least this share of a log's events must be of kinds that the model knows.")
    shown: float = _setting(
        0.95, "At least this share of the model's training events must be of kinds that the log can show."
    )
    near: float = _setting(0.5, "At least this share of the rows must lie near those that the model learned from.")


@dataclass(frozen=True)
class Population:
    """How common bots are where the game is played, whatever their share among the labels."""

    bots: float = _setting(
        0.05,
        "The share of bots among all accounts that every probability and precision supposes; `evaluate` estimates it.",
    )


@dataclass(frozen=True)
class Rank:
    """Who comes onto the list of accounts to look at."""

    probability: float = _setting(0.8, "The bot probability from which an account is listed for review by a person.")
    top: int = _setting(50, "How many accounts the list shows at the most; 0 shows all.")
    rolling: str = _setting("7d", "Over how much of the newest time an account's days make one rolling score.")


@dataclass(frozen=True)
class Evaluate:
    """How results are stated."""

    folds: int = _setting(10, "How many parts the actors are split into; each is held out once.")


@dataclass(frozen=True)
class PlayStyles:
    """Which people are compared with which: the borders between styles of play."""

    hardcore_hours: float = _setting(10.0, "Whoever is online for so many hours a day is a hard-core player.")
    grinder_kills: float = _setting(2.0, "Whoever else kills so many monsters a minute is a grinder.")
    newbie_level: float = _setting(15.0, "Whoever else has at most this level is a newbie; all others are veterans.")
    borders: str = _setting("given", "given: the borders above; learned: those that cut a fifth off the known humans.")


@dataclass(frozen=True)
class Chunks:
    """How chunks of play add up to a belief."""

    sure: float = _setting(0.99, "The belief from which an actor is called a bot, and its opposite a human.")
    flagged: float = _setting(0.5, "The probability from which a chunk counts as flagged.")
    discount: float = _setting(0.3, "How much of a further chunk counts: one actor's chunks are not independent.")


@dataclass(frozen=True)
class Verdict:
    """How detectors add up, and from where on a verdict may be followed by something."""

    watch: float = _setting(0.05, "The false-positive rate of a verdict from which an actor is watched.")
    act: float = _setting(
        0.001,
        "The false-positive rate of the point to act, and of rungs that name none; written down, of all rungs of the "
        "default ladder.",
    )
    agree: int = _setting(
        2,
        "So many families of features must agree, each on its own, to reach the point to act, and for rungs that name "
        "no number; written down, for all rungs of the default ladder.",
    )
    discount: float = _setting(0.3, "How much of a further family's evidence counts where no fusion was learned.")


@dataclass(frozen=True)
class Budget:
    """How sure a promise on wrong accusations has to be."""

    confidence: float = _setting(95.0, "Per cent: how sure one wants to be that the budget of wrong accusations holds.")


@dataclass(frozen=True)
class Maintain:
    """How a model is watched, retrained and validated (algorithms of Lee et al., NDSS 2016, with its gaps filled)."""

    period: str = _setting("1d", "The length of one period of the watch; 1w evens weekdays out.")
    compare_with: int = _setting(1, "Which period before X_t compares with; 7 with days is the same weekday.")
    correlation: str = _setting("pearson", "How scores of two periods are compared: pearson or spearman.")
    transform: str = _setting(
        "none", "none draws X_t itself, fisher its atanh: advised where X_t is usually above 0.9."
    )
    sides: str = _setting("both", "both retrains outside either limit, as published; lower only below the lower one.")
    weight: float = _setting(0.2, "λ: how much the newest period weighs in Z_t.")
    width: float = _setting(3.0, "L: the width of the limits in deviations.")
    sigma_floor: float = _setting(0.005, "The least σ₀; with many actors a weekend would give a signal without it.")
    common_actors: int = _setting(100, "Fewer actors than this in both periods give no X_t.")
    baseline: int = _setting(20, "Periods in control after which the limits are settled.")
    provisional: int = _setting(8, "Periods from which there are limits at all, marked provisional.")
    missing: int = _setting(3, "Periods without X_t in a row after which the operator is told.")
    consecutive: int = _setting(2, "Signals in a row after which the operator is told.")
    flag: float = _setting(0.5, "The probability from which an actor counts as flagged when two models are compared.")
    window_least: int = _setting(4, "A new model learns from at least so many of the newest periods.")
    window_most: int = _setting(8, "And from at most so many, if fewer hold too few labelled actors.")
    labelled: int = _setting(50, "Labelled actors of each class without which no new model is fitted.")
    held_out: float = _setting(0.3, "The share of labelled actors that no retraining ever learns from.")
    auc_floor: float = _setting(0.85, "The held-out AUC below which a new model is invalid.")
    auc_slack: float = _setting(0.02, "How far below the old model's AUC on the same actors a new one may be.")
    share_least: float = _setting(0.5, "A valid model flags at least this multiple of what the old one flags.")
    share_most: float = _setting(2.0, "And at most this multiple.")
    unknown_most: float = _setting(
        0.05, "Scores are not trusted beyond this share of events new to the model, or of those it learned from gone."
    )
    fpr: float = _setting(0.05, "The false-positive rate whose promise is watched: so many in 100 people, no more.")
    fprs_most: float = _setting(2.0, "Scores are not trusted once that promise is broken so many times over.")
    bots_most: float = _setting(
        0.3, "The largest thinkable share of bots among actors, where the model did not learn from more."
    )
    unjudged_most: float = _setting(0.9, "Scores are not trusted where more than this share of actors has none.")
    collapsed: float = _setting(0.25, "A log with less than this multiple of the usual events per actor is incomplete.")


@dataclass(frozen=True)
class Watch:
    """How much a watch that never ends remembers, whatever is sent at it."""

    players: int = _setting(
        1_000_000, "So many players are kept at a time, and so many connections; newcomers beyond are only counted."
    )
    unproven: int = _setting(
        262_144, "So many sources are kept that have not proven to be there (about 150 bytes each); the oldest goes."
    )
    keep: str = _setting("1d", "Who was silent for so long is forgotten and starts afresh, at the latest after twice.")
    idle: str = _setting(
        "30m", "Who was silent for so long sleeps on disk, beside the state, and goes on as before when it sends again."
    )
    memory: str = _setting(
        "",
        "The whole watch takes no more memory than this, such as 1GiB; fewer players are kept then. Empty: no limit.",
    )
    tick: str = _setting("15m", "How often events under way are scored, by their own time.")
    late: str = _setting("10m", "So long after its end a day waits for its last events; then its scores are final.")


@dataclass(frozen=True)
class Notify:
    """Whom maintenance calls, and how often at the most."""

    urls_from: str = _setting(
        "GAMEWARDEN_NOTIFY",
        "The environment variable with the apprise addresses, separated by spaces; while it is empty nobody is told.",
    )
    gap: str = _setting("6h", "The same reason is not told again within this time.")
    most_a_day: int = _setting(10, "More messages than this in 24 hours are held back.")
    names: str = _setting("never", "never keeps account names out of messages; allowed names the most affected.")


@dataclass(frozen=True)
class Workspace:
    """Where a workspace keeps its things; places are relative to the directory of warden.toml."""

    lake: str = _setting("lake", "The directory with the events.")
    results: str = _setting("results", "The directory with what was found: features, scores, verdicts and evidence.")
    models: str = _setting("models", "The directory with the models.")
    ledger: str = _setting("ledger.db", "The file with all decisions; GAMEWARDEN_LEDGER may name a database instead.")
    labels: str = _setting("", "The file that says who is a bot and who is human; empty where there is none.")
    profiles: str = _setting("", "The file with what is known of accounts beside their events; empty for none.")
    one_rater: bool = _setting(
        default=False, says="Whether one reviewer's vote on an account is a label, bot or human; else two must agree."
    )
    account_numbers: bool = _setting(
        default=False, says="Whether actors of pushed events are account numbers; each [[source]] says it for itself."
    )


@dataclass(frozen=True)
class Retention:
    """How long results and events are kept; what a kept verdict rests on stays as long as that verdict."""

    events: str = _setting("", "How long events are kept, such as 90d; empty keeps them for ever.")
    features: str = _setting("", "How long features are kept, such as 90d; empty keeps them for ever.")
    scores: str = _setting("", "How long scores are kept, such as 90d; empty keeps them for ever.")
    verdicts: str = _setting("", "How long verdicts and their evidence are kept, such as 5w; empty: for ever.")
    ledger: str = _setting(
        "",
        "How long decisions, challenges and observations are kept once they are over, such as 52w; empty: for ever. "
        "Nothing goes of accounts with a decision in force, an open appeal, protection, or that were exonerated.",
    )


@dataclass(frozen=True)
class DeskSettings:
    """How people and programs come to the desk."""

    public_url: str = _setting(
        "", "Where a browser finds the desk behind a proxy, such as https://warden.example.org; empty: on this machine."
    )
    hosts: str = _setting("", "Further names by which the desk may be asked for, separated by commas.")
    trust_proxy: bool = _setting(
        default=False, says="Whether a proxy on this machine tells the visitor's address (X-Forwarded-For)."
    )
    language: str = _setting("en", "The language of pages where a browser asks for none that there is.")
    grace: str = _setting("20s", "For how long an act on many accounts can be taken back at once.")
    session_idle: str = _setting("8h", "Whoever does nothing for so long is logged out.")
    session_most: str = _setting("7d", "And whoever logged in so long ago, whatever they do.")
    oidc_issuer: str = _setting(
        "", "The OpenID provider that people log in at, such as https://id.example.org; or empty."
    )
    oidc_client: str = _setting("", "What the provider calls the desk: the client id.")
    oidc_secret_from: str = _setting(
        "GAMEWARDEN_OIDC_SECRET", "The environment variable with the client's secret; empty there: a public client."
    )
    oidc_scope: str = _setting("openid profile", "What the provider is asked for.")
    oidc_role_claim: str = _setting("groups", "The claim that says in which groups somebody is.")
    oidc_roles: str = _setting(
        "", "Which group has which role, such as wardens=moderator, staff=viewer; the first that fits counts."
    )
    oidc_default_role: str = _setting(
        "nobody", "The role of whoever is in none of these groups; nobody: they are refused."
    )


@dataclass(frozen=True)
class SourceSettings:
    """What a workspace reads: files that grow, rotate and arrive, one `[[source]]` for each kind of them."""

    name: str = _setting("", "What the source is called: letters, digits, . _ and -; each has a name of its own.")
    locator: tuple[str, ...] = _setting(
        (),
        "A file, a glob such as logs/*.csv.gz, a directory, s3://, gs:// or az:// with a bucket, - for standard "
        "input, the database of a game server such as mysql://user@host/name, or a list of these; paths are relative "
        "to the directory of warden.toml.",
    )
    map: str = _setting("", "The mapping file or preset that says what its columns are called; empty takes our names.")
    time_zone: str = _setting("", "The time zone (IANA name) of local times in it; empty takes [read] time_zone.")
    kind: str = _setting("", "What it is read as: events, packets, messages or table; empty: as its reader finds.")
    reader: str = _setting("", "The reader that opens it, such as ragnarok or log; empty: the first that knows it.")
    server_ports: tuple[int, ...] = _setting((), "The server's ports in captures.")
    accounts: str = _setting(
        "",
        "The table that says who used which address when, messages (clients say it themselves), or the address of a "
        "topic; empty for none.",
    )
    include_empty: bool = _setting(default=False, says="Whether packets without payload count.")
    max_bad_share: float | None = _setting(
        None, "The share of bad rows above which a file is refused; left out, that of [read]."
    )
    keep_truncated: bool = _setting(
        default=False, says="Whether what is whole of a packed file that ends early is taken."
    )
    packet_db: tuple[str, ...] = _setting((), "Tables of the messages of Ragnarok clients, the last uppermost.")
    packet_version: int | None = _setting(
        None, "Up to which version of them; left out, all. Of a server's headers, the client's date: YYYYMMDD."
    )
    packet_client: str = _setting(
        "", "Of a server's headers, the kind of client: main, re, zero, sak or ad; empty: as the server has it by date."
    )
    strict: bool = _setting(default=False, says="Whether the first message that cannot be read ends its stream.")
    password_from: str = _setting(
        "GAMEWARDEN_DB_PASSWORD", "Of a database: the environment variable with its password."
    )
    password_file: str = _setting("", "Of a database: a file with its password, which nobody else may read.")
    encoding: str = _setting(
        "", "Of a database: in which letters its texts were written, such as cp949; empty: as its tables say."
    )
    offline: bool = _setting(
        default=False, says="Of a database: whether nobody plays on it, as on a copy, so that it may be read in full."
    )
    profiles: str = _setting(
        "", "Of a game server's database: the file that gets its accounts at each look; [workspace] profiles reads it."
    )
    account_numbers: bool = _setting(
        default=False,
        says="Whether its actors are account numbers of the game server; an adapter with account_id acts on no others.",
    )
    settled: str = _setting(
        "0s",
        "A capture, packetstream or table is taken in once it has not changed for so long; logs are read as they grow.",
    )


@dataclass(frozen=True)
class Config:
    """All settings, by section."""

    read: Read = field(default_factory=Read)
    privacy: Privacy = field(default_factory=Privacy)
    measure: Measure = field(default_factory=Measure)
    coverage: Coverage = field(default_factory=Coverage)
    origin: Origin = field(default_factory=Origin)
    population: Population = field(default_factory=Population)
    rank: Rank = field(default_factory=Rank)
    evaluate: Evaluate = field(default_factory=Evaluate)
    styles: PlayStyles = field(default_factory=PlayStyles)
    chunks: Chunks = field(default_factory=Chunks)
    verdict: Verdict = field(default_factory=Verdict)
    budget: Budget = field(default_factory=Budget)
    maintain: Maintain = field(default_factory=Maintain)
    watch: Watch = field(default_factory=Watch)
    notify: Notify = field(default_factory=Notify)
    workspace: Workspace = field(default_factory=Workspace)
    retention: Retention = field(default_factory=Retention)
    response: Response = field(default_factory=Response)
    challenge: ChallengeSettings = field(default_factory=ChallengeSettings)
    appeal: AppealSettings = field(default_factory=AppealSettings)
    desk: DeskSettings = field(default_factory=DeskSettings)
    ladder: tuple[Rung, ...] = LADDER
    adapters: tuple[AdapterSettings, ...] = (LOG_ADAPTER,)
    sources: tuple[SourceSettings, ...] = ()
    given: frozenset[str] = field(default=frozenset(), compare=False)  # what somebody wrote down, as "[section] name"

    @property
    def is_workspace(self) -> bool:
        """Whether the file that it was read from speaks of a workspace."""
        return bool(self.sources) or any(name.startswith("[workspace]") for name in self.given)


SECTIONS: Mapping[str, type] = {
    "read": Read,
    "privacy": Privacy,
    "measure": Measure,
    "coverage": Coverage,
    "origin": Origin,
    "population": Population,
    "rank": Rank,
    "evaluate": Evaluate,
    "styles": PlayStyles,
    "chunks": Chunks,
    "verdict": Verdict,
    "budget": Budget,
    "maintain": Maintain,
    "watch": Watch,
    "notify": Notify,
    "workspace": Workspace,
    "retention": Retention,
    "response": Response,
    "challenge": ChallengeSettings,
    "appeal": AppealSettings,
    "desk": DeskSettings,
}
SOURCE = "source"  # what each of the sources is headed by: [[source]]
RUNG, ADAPTER = "response.ladder", "response.adapter"
_SHARE, _COUNT = (0.0, 1.0), (0, 1_000_000_000)
_LARGEST = 1 << 20  # bytes: all settings with their sentences are some thousand
_WITH_PASSWORD = re.compile(r"[a-z]+://[^/?#]*:[^/?#]*@")
_WEB_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\[\]:_-]+(/[^\s?#]*)?")
_THIS_MACHINE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?(/|$)")
_LAST_OF_FOUR = 0xFFFF  # hexadecimal digits
_LONGEST_NAME = 100  # letters; a longer one is a slip of nobody's finger
# Settings that have moved: where each stood, and where it stands now.
_MOVED = {"[evaluate] prevalence": "[population] bots"}


def load_config(path: Path | None) -> Config:
    """The settings of `path`, or of ./warden.toml where there is one, or the defaults.

    Raises:
        ConfigError: the file is missing, is not TOML, or names a key or a value we cannot follow.
    """
    if path is None:
        path = Path(FILE_NAME)
        if not path.exists():
            return Config()
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise ConfigError(f"{path}: {size:,} bytes are too many for settings (at most {_LARGEST:,})")
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested without end; settings are [section] and name = value") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise ConfigError(f"{path}: is not TOML ({error})") from error
    return config_from(values, str(path))


def config_from(values: Mapping[str, Any], source: str) -> Config:
    """Settings from parsed TOML; `source` names it in errors."""
    for name in values:
        _refuse_unknown(name, {**SECTIONS, SOURCE: SourceSettings}, f"{source}: section")
    given = frozenset(_names(values))
    for old in sorted(given & _MOVED.keys()):
        raise ConfigError(f"{source} {old} is now {_MOVED[old]}, which every probability supposes too; write it there")
    plain, lists = _lists_apart(values)
    sections: dict[str, Any] = {
        name: _section(SECTIONS[name], part, f"{source} [{name}]") for name, part in plain.items()
    }
    listed: dict[str, Any] = {name: _listed(_LISTS[head], part, f"{source} [[{head}]]") for name, head, part in lists}
    listed.setdefault("ladder", _usual_ladder(given))
    config = Config(**sections, **listed, given=given)
    _refuse_impossible(config, source)
    return config


def _usual_ladder(given: Collection[str]) -> tuple[Rung, ...]:
    """The default ladder; [verdict] act and agree replace its own numbers where somebody has written them down."""
    settings_of = {"fpr": "[verdict] act", "agree": "[verdict] agree"}
    replaced: dict[str, Any] = {key: None for key, setting in settings_of.items() if setting in given}
    return tuple(replace(rung, **replaced) if rung.needs_evidence else rung for rung in LADDER)


def _lists_apart(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str, Any]]]:
    """The sections, and the lists of sections as what Config calls them, what heads them, and their values."""
    plain = {name: part for name, part in values.items() if name != SOURCE}
    lists = [("sources", SOURCE, values[SOURCE])] if SOURCE in values else []
    response = plain.get("response")
    for name, head in (("ladder", RUNG), ("adapters", ADAPTER)):
        key = head.rpartition(".")[2]
        if isinstance(response, dict) and key in response:
            lists.append((name, head, response[key]))
            response = {one: value for one, value in response.items() if one != key}
            plain["response"] = response
    return plain, lists


def _names(values: Mapping[str, Any]) -> Iterator[str]:
    """The settings of parsed TOML, each as "[section] name"."""
    for section, part in values.items():
        yield from (f"[{section}] {name}" for name in (part if isinstance(part, dict) else ()))


def settings() -> Iterator[tuple[str, Field[Any]]]:
    """Every setting as its section's name and its field, in order: for `config` and for the documents."""
    for name, section in SECTIONS.items():
        for setting in fields(section):
            yield name, setting


def config_text(config: Config) -> str:
    """The settings as a warden.toml with the sentence of each."""
    parts = [(f"[{name}]", getattr(config, name)) for name in SECTIONS]
    parts += [(f"[[{RUNG}]]", rung) for rung in config.ladder]
    parts += [(f"[[{ADAPTER}]]", adapter) for adapter in config.adapters]
    parts += [(f"[[{SOURCE}]]", source) for source in config.sources]
    return "\n".join(f"{head}\n{_lines(part)}" for head, part in parts)


def ladder_text() -> str:
    """The ladder without any settings, as a warden.toml writes it."""
    usual = Rung()
    told = (
        "\n".join(
            f"{one.name} = {written(value)}"
            for one in fields(Rung)
            if (value := getattr(rung, one.name)) != getattr(usual, one.name)
        )
        for rung in LADDER
    )
    return "\n\n".join(f"[[{RUNG}]]\n{lines}" for lines in told)


def needed_in_list(head: str) -> tuple[str, ...]:
    """The keys that each member of a list must have."""
    return _LISTS[head].needed


def _lines(section: Any) -> str:  # noqa: ANN401  any of the dataclasses above
    """The settings of a section, those without a value left out."""
    values = {one: getattr(section, one.name) for one in fields(section)}
    told = (
        f"# {one.metadata['says']}\n{one.name} = {written(value)}\n"
        for one, value in values.items()
        if value is not None
    )
    return "".join(told)


def written(value: Any) -> str:  # noqa: ANN401  a setting has the type of its default
    """A value as TOML writes it; one that is not set as nothing."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """A text as TOML writes it, so that it is read back as it was."""
    return f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    if letter.isprintable():
        return f"\\{letter}" if letter in '"\\' else letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= _LAST_OF_FOUR else f"\\U{ord(letter):08x}"


def _section(section: type, values: object, where: str) -> object:
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: is {short(values)}, not a section; write [name] and one setting a line")
    known = {setting.name: setting for setting in fields(section)}
    for name, value in values.items():
        _refuse_unknown(name, known, f"{where}:")
        wanted = type(known[name].default)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or isinstance(value, bool) != (wanted is bool):
            raise ConfigError(
                f"{where}: {name} = {short(value)}; it takes {wanted.__name__} such as {known[name].default!r}"
            )
    return section(**values)


_FILE_NAME_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PACKET_CLIENTS = ("main", "re", "zero", "sak", "ad")  # the kinds of Ragnarok clients that servers know
_KINDS = ("events", "packets", "messages", "table")
_LAST_PORT = 65535


@dataclass(frozen=True)
class _Listed:
    """A list of sections: what its members are, what each needs, and why a key cannot have a value."""

    member: type
    called: str
    needed: tuple[str, ...]
    limits: Mapping[str, Callable[[Any], str]]
    times: tuple[str, ...]
    several: tuple[str, ...] = ()  # keys that take a text or a list of texts


def _listed(kind: _Listed, values: object, where: str) -> tuple[Any, ...]:
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        head = where.rpartition(" ")[2]
        raise ConfigError(
            f"{where}: is {short(values)}, not a list of {kind.called}s; write {head} and one setting a line"
        )
    made = tuple(_member(kind, one, f"{where} {_name_of(one, place)}") for place, one in enumerate(values, 1))
    seen: dict[str, int] = {}
    for place, one in enumerate(made, 1):
        first = seen.setdefault(one.name.lower(), place)  # two files may not differ only so everywhere
        if first != place:
            raise ConfigError(
                f"{where} {one.name!r}: is named as number {first} is; give each {kind.called} a name of its own"
            )
    return made


def _name_of(values: Mapping[str, Any], place: int) -> str:
    """What an error calls a member of a list: by its name where that is one."""
    name = values.get("name")
    return repr(name) if isinstance(name, str) and _FILE_NAME_SAFE.fullmatch(name) else f"number {place}"


def _member(kind: _Listed, values: Mapping[str, Any], where: str) -> Any:  # noqa: ANN401  a member of the list
    known = {one.name: one for one in fields(kind.member)}
    for name, value in values.items():
        _refuse_unknown(name, known, f"{where}:")
        words, fits = _TAKEN[known[name].type]
        several = name in kind.several
        if not fits(value) and not (several and isinstance(value, str)):
            raise ConfigError(f"{where}: {name} = {short(value)}; it takes {'a text or ' * several}{words}")
    for name in kind.needed:
        if name not in values:
            raise ConfigError(f"{where}: has no {name}; add {name} = …")
    for name, refuse in kind.limits.items():
        if name in values and (reason := refuse(values[name])):
            raise ConfigError(f"{where}: {name} = {short(values[name])}; {reason}")
    for name in kind.times:
        if values.get(name, "0s") != "0s":
            _refuse_no_span(f"{where}: {name}", values[name])
    _refuse_no_zone(values.get("time_zone", ""), where)
    return kind.member(**{name: _frozen(value, several=name in kind.several) for name, value in values.items()})


def _frozen(value: Any, *, several: bool) -> Any:  # noqa: ANN401  a setting has the type of its default
    if several and isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _refuse_no_zone(zone: str, where: str) -> None:
    try:
        parse_zone(zone or "UTC")
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# What a key of a source takes, by its type: in words, and whether a value is such.
_TAKEN: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    float: ("a number", _number),
    int: ("a whole number", _whole),
    float | None: ("a number", _number),
    int | None: ("a whole number", _whole),
    tuple[str, ...]: (
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    ),
    tuple[int, ...]: (
        "a list of whole numbers",
        lambda value: isinstance(value, list) and all(map(_whole, value)),
    ),
}


def _no_places(value: str | Sequence[str]) -> str:
    places = [value] if isinstance(value, str) else value
    if any("\0" in place for place in places):
        return "no place holds a zero byte"
    if any(_WITH_PASSWORD.match(place) for place in places):
        return "a password stands in it; leave it out, and set GAMEWARDEN_DB_PASSWORD or password_file"
    return "" if places and all(places) else "a place is no empty text" if places else "name at least one place"


def _no_name(name: str) -> str:
    if _FILE_NAME_SAFE.fullmatch(name):
        return ""
    return "it is 1 to 64 letters, digits, . _ or -, the first a letter or digit"


def _no_step(steps: Sequence[str]) -> str:
    odd = [step for step in steps if step not in STEPS]
    return f"{short(odd[0])} is no step; known are {', '.join(STEPS)}" if odd else ""


def _no_step_of_a_ladder(steps: Sequence[str]) -> str:
    above = [step for step in steps if step in SANCTIONS]
    return f"only a person decides on {above[0]}: `gamewarden decide`" if above else _no_step(steps)


# Why a key of a source cannot have a value; nothing where it can.
_SOURCE_LIMITS: Mapping[str, Callable[[Any], str]] = {
    "name": _no_name,
    "locator": _no_places,
    "kind": lambda kind: "" if kind in ("", *_KINDS) else f"it is {', '.join(_KINDS)} or empty",
    "server_ports": lambda ports: (
        "" if all(1 <= port <= _LAST_PORT for port in ports) else f"a port lies from 1 to {_LAST_PORT}"
    ),
    "max_bad_share": lambda share: "" if 0 <= share <= 1 else "it is a share between 0 and 1",
    "packet_client": lambda kind: (
        "" if kind in ("", *PACKET_CLIENTS) else f"it is {', '.join(PACKET_CLIENTS)} or empty"
    ),
    "packet_version": lambda version: "" if 0 <= version <= _COUNT[1] else f"it must lie from 0 to {_COUNT[1]:,}",
}
_FINITE = 1_000.0
_RUNG_LIMITS: Mapping[str, Callable[[Any], str]] = {
    "name": _no_name,
    "enter": lambda score: "" if -_FINITE <= score <= _FINITE else "it is a suspicion in log-odds such as 2.5",
    "leave": lambda score: "" if -_FINITE <= score <= _FINITE else "it is a suspicion in log-odds such as 1.5",
    "steps": _no_step_of_a_ladder,
    "fpr": lambda share: "" if 0 <= share <= 1 else "it is a share between 0 and 1",
    "agree": lambda count: "" if 0 <= count <= 100 else "it must lie from 0 to 100",  # noqa: PLR2004  as [verdict] agree
}
_ADAPTER_LIMITS: Mapping[str, Callable[[Any], str]] = {
    "name": _no_name,
    "kind": lambda kind: "" if kind in ADAPTER_KINDS else f"it is {' or '.join(ADAPTER_KINDS)}",
    "steps": _no_step,
    "attempts": lambda count: "" if 1 <= count <= _COUNT[1] else "it is 1 or more",
}
_LISTS: Mapping[str, _Listed] = {
    SOURCE: _Listed(SourceSettings, "source", ("name", "locator"), _SOURCE_LIMITS, ("settled",), ("locator",)),
    RUNG: _Listed(Rung, "rung", ("name", "enter"), _RUNG_LIMITS, ("lasts",)),
    ADAPTER: _Listed(AdapterSettings, "adapter", ("name", "kind"), _ADAPTER_LIMITS, ("timeout",)),
}


def _refuse_unknown(name: str, known: Mapping[str, object], where: str) -> None:
    if name in known:
        return
    near = get_close_matches(name, known, n=1) if len(name) <= _LONGEST_NAME else []
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    raise ConfigError(f"{where} {short(name)} is unknown; {hint}")


DESK_ROLES = ("viewer", "reviewer", "moderator", "operator", "admin")
IDENTIFIERS = ("character", "target", "item", "other", "session", "ip")  # columns of events that can be hashed
# From where to where a number may lie; one that is not named here is at least a finite one from 0 on.
_LIMITS: Mapping[str, tuple[float, float]] = {
    "[measure] min_windows": (1, _COUNT[1]),
    "[measure] min_events": (1, _COUNT[1]),
    "[measure] min_active": (1, _COUNT[1]),
    "[evaluate] folds": (2, 1_000),
    "[styles] hardcore_hours": (0, 24),
    "[styles] grinder_kills": (0, 1_000_000),
    "[styles] newbie_level": (0, 1_000_000),
    "[verdict] agree": (1, 100),
    "[maintain] weight": (0.01, 1),
    "[maintain] width": (0.1, 10),
    "[maintain] compare_with": (1, 366),
    "[maintain] baseline": (3, 1_000),
    "[maintain] provisional": (3, 1_000),  # two points have no deviation
    "[maintain] window_least": (1, 1_000),
    "[maintain] window_most": (1, 1_000),
    "[maintain] labelled": (2, 1_000_000),
    "[maintain] held_out": (0.05, 0.9),
    "[maintain] share_least": (0, 1_000_000),
    "[maintain] share_most": (0, 1_000_000),
    "[maintain] common_actors": (3, _COUNT[1]),
    "[maintain] missing": (1, 1_000),
    "[maintain] consecutive": (1, 1_000),
    "[maintain] fpr": (0.0001, 1),
    "[maintain] fprs_most": (1, 10_000),
    "[watch] players": (1, 100_000_000),
    "[watch] unproven": (1, 1 << 24),
    "[notify] most_a_day": (0, 1_000_000),
    "[response] least": (-100, 0),
    "[response] most": (0, 100),
    "[response] hysteresis": (0, 100),
    "[response] overturned_of": (1, 1_000_000),
    "[challenge] attempts": (1, 100),
    "[challenge] failed": (0, 100),
    "[challenge] timeout": (0, 100),
    "[challenge] passed": (-100, 0),
    "[challenge] learned_from": (1, _COUNT[1]),
    "[challenge] on_call_windows": (1, 1_000),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "[styles] borders": ("given", "learned"),
    "[maintain] correlation": ("pearson", "spearman"),
    "[maintain] transform": ("none", "fisher"),
    "[maintain] sides": ("both", "lower"),
    "[notify] names": ("never", "allowed"),
    "[challenge] kind": ("image", "arithmetic", "item", "task"),
    "[challenge] language": ("en", "ko"),
    "[desk] language": ("en", "ko"),
    "[desk] oidc_default_role": ("nobody", *DESK_ROLES),
}
_SPANS = (
    "[measure] unit",
    "[measure] every",
    "[rank] rolling",
    "[maintain] period",
    "[watch] keep",
    "[watch] idle",
    "[watch] tick",
    "[watch] late",
    "[notify] gap",
    "[response] tau",
    "[response] played_a_day",
    "[response] evidence_for",
    "[response] long_ban",
    "[response] wave",
    "[challenge] every",
    "[challenge] least_every",
    "[challenge] lasts",
    "[challenge] cool_down",
    "[challenge] on_call_reach",
    "[desk] grace",
    "[desk] session_idle",
    "[desk] session_most",
)
_SPANS_OR_EMPTY = tuple(f"[retention] {one}" for one in ("events", "features", "scores", "verdicts", "ledger"))
_SIZES_OR_EMPTY = ("[watch] memory",)
_IN_WORDS = {
    _SPANS: "a length of time",
    _SPANS_OR_EMPTY: "a length of time or empty",
    _SIZES_OR_EMPTY: "an amount of memory or empty",
}
_DIRECTORIES = ("[workspace] lake", "[workspace] results", "[workspace] models")


def moment_of(text: str) -> datetime:
    """A time such as 2026-03-01 or 2026-03-01T12:00:00Z; without a zone it is UTC.

    Raises:
        ValueError: it is none.
    """
    told = datetime.fromisoformat(text)
    return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)


def _refuse_impossible_times(read: Read, source: str) -> None:
    for name in ("earliest", "latest"):
        value = getattr(read, name)
        try:
            moment = moment_of(value or "2026-03-01")
        except (ValueError, OverflowError):
            raise ConfigError(f"{source} [read] {name} = {value!r}; it is a time such as 2026-03-01") from None
        if name == "latest" and value and moment <= moment_of(read.earliest):
            raise ConfigError(f"{source} [read] latest = {value!r}; it must lie after earliest = {read.earliest!r}")
    if not read.earliest:
        raise ConfigError(f"{source} [read] earliest = ''; it is a time such as 1995-01-01")


def _refuse_impossible(config: Config, source: str) -> None:
    for section, setting in settings():
        name, value = f"[{section}] {setting.name}", getattr(getattr(config, section), setting.name)
        if name in _SPANS or (value and name in _SPANS_OR_EMPTY):
            _refuse_no_span(f"{source} {name}", value)
        elif value and name in _SIZES_OR_EMPTY:
            _refuse_no_size(f"{source} {name}", value)
        elif name in _DIRECTORIES and not value:
            raise ConfigError(f"{source} {name} = ''; it is a directory such as {setting.default!r}")
        elif name in _CHOICES and value not in _CHOICES[name]:
            raise ConfigError(f"{source} {name} = {short(value)}; it is {' or '.join(_CHOICES[name])}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            _refuse_outside(f"{source} {name}", value, _LIMITS.get(name, _usual(setting.default)))
    if config.read.time_zone:
        parse_zone(config.read.time_zone)
    _refuse_impossible_times(config.read, source)
    for column in config.privacy.columns:
        if column not in IDENTIFIERS:
            raise ConfigError(
                f"{source} [privacy] hash names {short(column)}; it is one or more of {', '.join(IDENTIFIERS)}"
            )
    _refuse_beside_each_other(config, source)
    _refuse_no_desk(config.desk, source)


def _refuse_no_desk(desk: DeskSettings, source: str) -> None:
    """Addresses are whole ones, and roles are those that there are."""
    for name in ("public_url", "oidc_issuer"):
        value = getattr(desk, name)
        if value and not _WEB_ADDRESS.fullmatch(value):
            raise ConfigError(f"{source} [desk] {name} = {short(value)}; it is such as https://warden.example.org")
    if desk.oidc_issuer.startswith("http:") and not _THIS_MACHINE.match(desk.oidc_issuer):
        raise ConfigError(f"{source} [desk] oidc_issuer = {short(desk.oidc_issuer)}; it is https, or on this machine")
    for group, role in desk_roles(desk.oidc_roles):
        if not group or role not in DESK_ROLES:
            raise ConfigError(
                f"{source} [desk] oidc_roles has {short(f'{group}={role}')};"
                f" write group=role with one of {', '.join(DESK_ROLES)}"
            )
    if desk.oidc_issuer and not desk.oidc_client:
        raise ConfigError(f"{source} [desk] oidc_issuer is set and oidc_client is not; write what the issuer calls us")


def desk_roles(text: str) -> list[tuple[str, str]]:
    """Groups and roles as a setting writes them, in their order."""
    pairs = (one.rpartition("=") for one in text.split(",") if one.strip())
    return [(group.strip(), role.strip()) for group, _, role in pairs]


def allowed(section: str, setting: Field[Any]) -> str:
    """What a setting may be, in words: for the documents."""
    name = f"[{section}] {setting.name}"
    if name in _CHOICES:
        return " or ".join(_CHOICES[name])
    for names, words in _IN_WORDS.items():
        if name in names:
            return words
    if isinstance(setting.default, bool):
        return "true or false"
    if isinstance(setting.default, str):
        return "text"
    least, most = _LIMITS.get(name, _usual(setting.default))
    return "a share from 0 to 1" if (least, most) == _SHARE else f"{least:,g} to {most:,.15g}"


def allowed_in_list(head: str, setting: Field[Any]) -> str:
    """What a key of a source, a rung or an adapter may be, in words: for the documents."""
    by_name = {
        SOURCE: {
            "locator": "a text or a list of texts",
            "kind": f"{', '.join(_KINDS)} or empty",
            "max_bad_share": "a share from 0 to 1",
        },
        RUNG: {"fpr": "a share from 0 to 1"},
        ADAPTER: {"kind": " or ".join(ADAPTER_KINDS)},
    }[head]
    by_name |= dict.fromkeys(_LISTS[head].times, "a length of time")
    return by_name.get(setting.name, _TAKEN[setting.type][0])


def _usual(default: Any) -> tuple[float, float]:  # noqa: ANN401  a dataclass default has the field's own type
    """Most numbers with a point are shares; whole ones are counts."""
    return _COUNT if isinstance(default, int) else _SHARE if default <= 1 else (0, 1e9)


def _refuse_outside(where: str, value: float, limits: tuple[float, float]) -> None:
    least, most = limits
    if least <= value <= most:  # which nothing that is no number does
        return
    words = "is a share between 0 and 1" if limits == _SHARE else f"must lie from {least:g} to {most:,.15g}"
    raise ConfigError(f"{where} = {value}; it {words}")


def _refuse_no_span(where: str, text: str) -> None:
    try:
        parse_span(text)
    except ConfigError as error:
        raise ConfigError(f"{where} = {short(text)}; it is a length of time: {error}") from error


def _refuse_no_size(where: str, text: str) -> None:
    try:
        parse_size(text)
    except ConfigError as error:
        raise ConfigError(f"{where} = {short(text)}; it is an amount of memory: {error}") from error


def _refuse_beside_each_other(config: Config, source: str) -> None:
    """What a number may be because of another, or because its borders do not count."""
    _refuse_crooked_ladder(config, source)
    maintain, bots, sure = config.maintain, config.population.bots, config.budget.confidence
    if not 0 < bots < 1:
        raise ConfigError(f"{source} [population] bots = {bots}; it is a share above 0 and below 1, such as 0.05")
    if not 0 < sure < 100:  # noqa: PLR2004  per cent
        raise ConfigError(f"{source} [budget] confidence = {sure}; it lies between 0 and 100 per cent")
    for small, large in (("provisional", "baseline"), ("window_least", "window_most"), ("share_least", "share_most")):
        value, most = getattr(maintain, small), getattr(maintain, large)
        if value > most:
            raise ConfigError(f"{source} [maintain] {small} = {value}; it must be at most {large}, {most}")


def _refuse_crooked_ladder(config: Config, source: str) -> None:
    """Each rung is entered above the one before, and left below where it is entered."""
    below: Rung | None = None
    for rung in config.ladder:
        where = f"{source} [[{RUNG}]] {rung.name!r}"
        if below is not None and rung.enter <= below.enter:
            raise ConfigError(f"{where}: enter = {rung.enter:g}; it must lie above {below.name!r}, {below.enter:g}")
        strictest = max(rung.steps, key=lambda step: FEWEST_FAMILIES.get(step, 0), default="")
        fewest = FEWEST_FAMILIES.get(strictest, 0)
        if rung.agree is not None and rung.agree < fewest:
            raise ConfigError(f"{where}: agree = {rung.agree}; {strictest} needs {fewest} or more families of evidence")
        if rung.leave is not None and rung.leave >= rung.enter:
            raise ConfigError(f"{where}: leave = {rung.leave:g}; it must lie below enter, {rung.enter:g}")
        below = rung
    if not 0 < config.response.prior < 1:
        raise ConfigError(
            f"{source} [response] prior = {config.response.prior}; it is a share above 0 and below 1, such as 0.02"
        )
