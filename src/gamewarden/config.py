"""warden.toml as frozen dataclasses: every number of policy, a sentence each."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gamewarden.errors import ConfigError
from gamewarden.spans import parse_span, parse_zone

FILE_NAME = "warden.toml"


def _setting(default: Any, says: str) -> Any:  # noqa: ANN401  a dataclass default has the field's own type
    return field(default=default, metadata={"says": says})


@dataclass(frozen=True)
class Read:
    """How sources are read."""

    zone: str = _setting("", "The time zone (IANA name) of sources that write local time; empty refuses such times.")
    max_bad_share: float = _setting(0.01, "The share of bad rows above which a source is refused as a whole.")


@dataclass(frozen=True)
class Measure:
    """How self-similarity is measured where a command says nothing else."""

    unit: str = _setting("60s", "The length of one window.")
    every: str = _setting("1d", "The length of one period: what is scored at once.")
    min_windows: int = _setting(30, "Fewer windows than this are too little evidence for a self-similarity.")


@dataclass(frozen=True)
class Rank:
    """Who comes onto the list of accounts to look at."""

    probability: float = _setting(0.99, "The bot probability from which an account is listed for review by a person.")
    top: int = _setting(50, "How many accounts the list shows at the most; 0 shows all.")


@dataclass(frozen=True)
class Evaluate:
    """How results are stated."""

    folds: int = _setting(10, "How many parts the actors are split into; each is held out once.")
    prevalence: float = _setting(0.05, "The share of bots among all players for which precision is stated.")


@dataclass(frozen=True)
class PlayStyles:
    """Which people are compared with which: the borders between styles of play."""

    hardcore_hours: float = _setting(10.0, "Whoever is online for so many hours a day is a hard-core player.")
    grinder_kills: float = _setting(2.0, "Whoever else kills so many monsters a minute is a grinder.")
    newbie_level: float = _setting(15.0, "Whoever else has at most this level is a newbie; all others are veterans.")
    fewest: int = _setting(50, "A style of fewer humans never counts for less than all humans together.")
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

    progressive: float = _setting(0.05, "The alarm from which an actor is watched; one family of features is enough.")
    conservative: float = _setting(0.001, "The alarm from which more than watching may follow.")
    agree: int = _setting(2, "So many families of features must agree, each on its own, before more may follow.")
    discount: float = _setting(0.3, "How much of a further family's evidence counts where no fusion was learned.")


@dataclass(frozen=True)
class Budget:
    """How sure a promise on wrong accusations has to be."""

    confidence: float = _setting(95.0, "Per cent: how sure one wants to be that the budget of wrong accusations holds.")


@dataclass(frozen=True)
class Config:
    """All settings, by section."""

    read: Read = field(default_factory=Read)
    measure: Measure = field(default_factory=Measure)
    rank: Rank = field(default_factory=Rank)
    evaluate: Evaluate = field(default_factory=Evaluate)
    styles: PlayStyles = field(default_factory=PlayStyles)
    chunks: Chunks = field(default_factory=Chunks)
    verdict: Verdict = field(default_factory=Verdict)
    budget: Budget = field(default_factory=Budget)


SECTIONS: Mapping[str, type] = {
    "read": Read,
    "measure": Measure,
    "rank": Rank,
    "evaluate": Evaluate,
    "styles": PlayStyles,
    "chunks": Chunks,
    "verdict": Verdict,
    "budget": Budget,
}
_BORDERS = ("given", "learned")


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
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML ({error})") from error
    return config_from(values, str(path))


def config_from(values: Mapping[str, Any], source: str) -> Config:
    """Settings from parsed TOML; `source` names it in errors."""
    for name in values:
        _refuse_unknown(name, SECTIONS, f"{source}: section")
    sections: dict[str, Any] = {
        name: _section(SECTIONS[name], part, f"{source} [{name}]") for name, part in values.items()
    }
    config = Config(**sections)
    _refuse_impossible(config, source)
    return config


def settings() -> Iterator[tuple[str, Field[Any]]]:
    """Every setting as its section's name and its field, in order: for `config` and for the documents' test."""
    for name, section in SECTIONS.items():
        for setting in fields(section):
            yield name, setting


def config_text(config: Config) -> str:
    """The settings as a warden.toml with the sentence of each."""
    lines: list[str] = []
    for name in SECTIONS:
        section = getattr(config, name)
        lines += ["", f"[{name}]"] if lines else [f"[{name}]"]
        for setting in fields(section):
            value = getattr(section, setting.name)
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            lines += [f"# {setting.metadata['says']}", f"{setting.name} = {shown}"]
    return "\n".join(lines) + "\n"


def _section(section: type, values: object, where: str) -> object:
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: is {values!r}, not a section; write [name] and one setting a line")
    known = {setting.name: setting for setting in fields(section)}
    for name, value in values.items():
        _refuse_unknown(name, known, f"{where}:")
        wanted = type(known[name].default)
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or isinstance(value, bool):
            raise ConfigError(
                f"{where}: {name} = {value!r}; it takes {wanted.__name__} such as {known[name].default!r}"
            )
    return section(**values)


def _refuse_unknown(name: str, known: Mapping[str, object], where: str) -> None:
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    raise ConfigError(f"{where} {name!r} is unknown; {hint}")


def _refuse_impossible(config: Config, source: str) -> None:
    parse_span(config.measure.unit)
    parse_span(config.measure.every)
    if config.read.zone:
        parse_zone(config.read.zone)
    shares = {
        "[read] max_bad_share": config.read.max_bad_share,
        "[rank] probability": config.rank.probability,
        "[evaluate] prevalence": config.evaluate.prevalence,
        "[chunks] sure": config.chunks.sure,
        "[chunks] flagged": config.chunks.flagged,
        "[chunks] discount": config.chunks.discount,
        "[verdict] progressive": config.verdict.progressive,
        "[verdict] conservative": config.verdict.conservative,
        "[verdict] discount": config.verdict.discount,
    }
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"{source} {name} = {share}; it is a share between 0 and 1")
    if config.styles.borders not in _BORDERS:
        raise ConfigError(f"{source} [styles] borders = {config.styles.borders!r}; it is {' or '.join(_BORDERS)}")
    if not 0 < config.budget.confidence < 100:  # noqa: PLR2004  per cent
        raise ConfigError(
            f"{source} [budget] confidence = {config.budget.confidence}; it lies between 0 and 100 per cent"
        )
    if config.evaluate.folds < 2:  # noqa: PLR2004  holding one part out needs a second one
        raise ConfigError(f"{source} [evaluate] folds = {config.evaluate.folds}; it must be at least 2")
