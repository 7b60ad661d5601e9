"""What somebody asks for by name and options, as recipes and runs: the command line and a notebook ask alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import polars as pl

from gamewarden import detectors, features
from gamewarden.config import Config, SourceSettings
from gamewarden.contracts import Detector, EventStream, Feature, Model, Progress, Source, no_progress
from gamewarden.core.durations import parse_span, parse_zone
from gamewarden.core.extras import need
from gamewarden.core.trees import Tree
from gamewarden.errors import ConfigError, ModelError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.learning.styles import styles_of
from gamewarden.notices import now
from gamewarden.pipeline.measuring import RunOptions, feature_class_of, feature_recipe, limits_of, measure_told
from gamewarden.pipeline.models import load_models, recipe_like
from gamewarden.readers import servers
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.logs.mapping import presets
from gamewarden.readers.logs.plausible import Plausible
from gamewarden.readers.options import CaptureOptions, LogOptions, MessageOptions, SourceOptions
from gamewarden.readers.places import file_at
from gamewarden.store import models as stored_models
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS, Table, check

if TYPE_CHECKING:  # most of what is asked for needs neither
    from gamewarden.pipeline.evaluating import Protocol
    from gamewarden.pipeline.fitting import TableFitOptions

OWN_MESSAGES = "messages"  # in the place of a table of accounts: clients say themselves who they are
_TOPICS = ("kafka://", "nats://")
_COLUMNS = ("actor", "group", "label", "drop", "keep", "siblings")  # what `fit` is told of an operator's own table

# How an option that is written as text becomes what its field holds, by the field's metadata "as".
_WRITTEN: Mapping[str, Callable[[str], Any]] = {
    "span": parse_span,
    "zone": lambda text: parse_zone(text).key,
    "kinds": lambda text: tuple(kind.strip() for kind in text.split(",") if kind.strip()),
    "lines": Path,
    "tree": Tree.named,
}


def reading_of(
    config: Config,
    mapping: str | None = None,
    time_zone: str | None = None,
    max_bad_share: float | None = None,
    places: Sequence[object] = (),
) -> SourceOptions:
    """How a run reads its sources, with warden.toml where nothing is asked for.

    The time zone is the one given, else that of warden.toml, else that of the first lake among `places`.
    """
    share = config.read.max_bad_share if max_bad_share is None else max_bad_share
    lakes = (Lake.time_zone_at(Path(one)) for one in places if isinstance(one, str | Path))
    zone = time_zone or config.read.time_zone or next((one for one in lakes if one), None)
    return SourceOptions(LogOptions(mapping, zone, share, plausible=Plausible.of(config.read, now())))


def reading_of_source(source: SourceSettings, config: Config, base: Path) -> SourceOptions:
    """How a source of warden.toml is read; `base` is the directory that its places are relative to."""
    options = reading_of(config, _mapping_at(source.map, base), source.time_zone or None, source.max_bad_share)
    secret = base / source.password_file if source.password_file else None
    return SourceOptions(
        replace(options.logs, keep_truncated=source.keep_truncated),
        captures_of(source.server_ports, source.accounts or None, include_empty=source.include_empty, base=base),
        MessageOptions(
            tuple(file_at(table, base) for table in source.packet_db),
            source.packet_version,
            source.packet_client or None,
            source.strict,
        ),
        DatabaseOptions(source.password_from, secret, source.encoding, source.offline),
    )


def captures_of(
    server_ports: tuple[int, ...], accounts: str | Path | None, *, include_empty: bool, base: Path | None = None
) -> CaptureOptions:
    """How captures are read; `accounts` is a table's place, `messages` of the clients, or the address of a topic."""
    if accounts == OWN_MESSAGES:
        return CaptureOptions(server_ports, None, include_empty, connect_messages=True)
    if isinstance(accounts, str) and is_no_table(accounts):
        from gamewarden.online.brokers.account_topic import account_topic

        return CaptureOptions(server_ports, account_topic(accounts), include_empty)
    place = file_at(accounts, base) if isinstance(accounts, str) else accounts
    return CaptureOptions(server_ports, place, include_empty)


def is_no_table(accounts: str) -> bool:
    """Whether accounts come from the clients' own messages or from a topic, and not from a file."""
    return accounts == OWN_MESSAGES or accounts.startswith(_TOPICS)


def _mapping_at(name: str, base: Path) -> str | None:
    return None if not name else name if name in {*presets(), *servers.NAMES} else str(base / name)


def run_of(config: Config, reading: SourceOptions) -> RunOptions:
    """What a run goes by that reads so."""
    return RunOptions(reading.logs.time_zone, limits_of(config))


def events_of(events: EventStream) -> Table:
    """EVENTS as one frame, those columns that the source has, and what the reading had to say."""
    columns = [name for name in EVENTS.columns if name in {*events.columns, *EVENTS.required}]
    empty = pl.DataFrame(schema={name: EVENTS.columns[name] for name in columns})
    parts = [pl.DataFrame(pl.from_arrow(batch)) for batch in events.batches(columns)]
    frames = [part.cast(cast("Any", dict(empty.schema))) for part in parts]
    frame = check(pl.concat([empty, *frames]), EVENTS, "events")
    return Table(frame.select(columns), tuple(events.notes))


def measure_named(
    name: str,
    source: Source,
    given: Mapping[str, Any],
    config: Config,
    *,
    time_zone: str | None = None,
    models: Path | None = None,
    detector: str | None = None,
    progress: Progress = no_progress,
) -> Table:
    """FEATURES of a source by a feature's name and options, or as a model on a shelf measures it."""
    recipe = features.load(name)
    said = chosen(recipe, given)
    if models is None:
        return measure_told(feature_recipe(name, said, config, time_zone), source, None, progress)
    feature, model = recipe_like(name, models, detector, said)
    return measure_told(feature, source, model, progress)


def recipe_named(name: str, given: Mapping[str, Any], config: Config, time_zone: str | None = None) -> Detector:
    """The recipe of a detector, around that of the feature it sees, from the options of both.

    Raises:
        InstallError: the libraries that it learns with are not there.
        ConfigError: an option cannot be used.
    """
    from gamewarden.pipeline.fitting import detector_recipe, trace_recipe

    need(f"fit {name}", "sklearn")
    detector, feature = detectors.load(name), feature_class_of(name)
    own = chosen(detector, given)
    if feature.input == "packets":
        return trace_recipe(name, own)
    seen = feature_recipe(feature.name, chosen(feature, given), config, time_zone)
    recipe = detector_recipe(name, seen, own)
    return recipe.with_styles(styles_of(config)) if feature.input == "events" else recipe


def table_named(name: str, given: Mapping[str, Any], config: Config) -> "TableFitOptions":
    """What a fit on an operator's own table is told: its columns, the label that means bot, the detector's options.

    Raises:
        InstallError: the libraries that it learns with are not there.
    """
    from gamewarden.pipeline.fitting import TableFitOptions

    detector = detectors.load(name)
    own = {one.name for one in fields(cast("Any", detector))}
    need(f"fit {name}", "sklearn", *(("lightgbm",) if "rounds" in own else ()))
    named = {column: given[column] for column in _COLUMNS if column in given}
    hours = {"hours": config.styles.hardcore_hours} if "hours" in own else {}
    told = hours | chosen(detector, given)
    return TableFitOptions(AccountTable(**named), given.get("positive"), told, name, given.get("labels"))


def evaluation_named(
    names: Sequence[str], rules: "Protocol", given: Mapping[str, Any], config: Config, time_zone: str | None = None
) -> tuple[Feature, tuple[str, ...]]:
    """The feature of an evaluation and the detectors that are tried on it.

    Raises:
        ConfigError: the detectors see different features, or the feature does not take an option.
    """
    from gamewarden.pipeline.evaluating import detectors_to_try

    tried = detectors_to_try(names, rules)
    recipe = feature_class_of(tried[0])
    refuse_others(recipe, given)
    return feature_recipe(recipe.name, chosen(recipe, given), config, time_zone), tried


def options_taken(*recipes: type) -> tuple[str, ...]:
    """The options that people may give to recipes: those that say what they are for."""
    known = (one.name for recipe in recipes for one in fields(cast("Any", recipe)) if "says" in one.metadata)
    return tuple(dict.fromkeys(known))


def chosen(recipe: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's fields among `given` that somebody really set, as the recipe holds them.

    Raises:
        ConfigError: a value cannot be one of its field.
    """
    hints = get_type_hints(recipe)
    known = {one.name: one for one in fields(cast("Any", recipe))}
    said = {name: value for name, value in given.items() if name in known and value is not None}
    return {name: _taken(recipe, known[name], hints[name], value) for name, value in said.items()}


def refuse_others(recipe: type, given: Mapping[str, Any]) -> None:
    """Stop over an option that another recipe has and this one does not.

    Raises:
        ConfigError: there is one.
    """
    names = {one.name for one in fields(cast("Any", recipe))}
    others = sorted(name for name, value in given.items() if value is not None and name not in names)
    if others:
        flags = ", ".join("--" + name.replace("_", "-") for name in others)
        raise ConfigError(f"{_name_of(recipe)} does not take {flags}; leave it out")


def gather_models(places: Sequence[Path], to: Path) -> Path:
    """The models in force of several directories as one directory.

    Raises:
        ModelError: two of them are of one detector.
    """
    whose: dict[str, Path] = {}
    for place, model in _in_force(places):
        name = model.card.detector
        if name in whose:
            raise ModelError(f"{place}: {name} has a model in {whose[name]} too; give only one of them")
        whose[name] = place
        stored_models.save(model, to)
    return to


def _in_force(places: Sequence[Path]) -> Iterator[tuple[Path, Model]]:
    for place in places:
        for model in load_models(place):
            yield place, model


def _taken(recipe: type, one: Field[Any], hint: Any, value: Any) -> Any:  # noqa: ANN401  options are of any type
    """A value as its field holds it: a span as microseconds, a list as a tuple; the rest as it is."""
    found = _from_text(one.metadata.get("as"), value)
    if not _fits(found, hint):
        raise ConfigError(f"{_name_of(recipe)}: {one.name} is {value!r}; it must be {_words(hint)}")
    return found


def _from_text(written: str | None, value: Any) -> Any:  # noqa: ANN401  as in `_taken`
    if isinstance(value, str) and written is not None and written in _WRITTEN:
        return _WRITTEN[written](value)
    if isinstance(value, timedelta) and written == "span":
        return value // timedelta(microseconds=1)
    return tuple(value) if isinstance(value, list) else value


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401  a type hint has no one type
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    plain = origin or hint
    if plain in (int, float):
        return isinstance(value, (int, plain)) and not isinstance(value, bool)
    return isinstance(value, Path) or not isinstance(plain, type) or is_dataclass(value) or isinstance(value, plain)


def _words(hint: Any) -> str:  # noqa: ANN401  as in `_fits`
    """What a type hint asks for."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return " or ".join(map(str, parts))
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_words(part) for part in parts if part is not NoneType)
    plain = get_origin(hint) or hint
    known = {int: "a whole number", float: "a number", bool: "True or False", str: "text", tuple: "a list of texts"}
    return known.get(plain, str(plain))


def _name_of(recipe: type) -> str:
    return str(getattr(recipe, "name", recipe.__name__))
