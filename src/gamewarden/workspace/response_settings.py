"""The settings of the response: --config allows no more than the workspace's own, and the audit has every change.

What decides and what limits is `warden.toml` of the workspace. Another file may only be stricter.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamewarden.config import ADAPTER, FILE_NAME, RUNG, SOURCE, Config, SourceSettings, written
from gamewarden.contracts import canonical_json, digest
from gamewarden.core.durations import parse_span
from gamewarden.core.user import system_user
from gamewarden.errors import ConfigError
from gamewarden.policy import ChallengeSettings, Response

if TYPE_CHECKING:
    from gamewarden.store.ledger.ledger import Ledger

_FACT = "response settings"  # what the ledger remembers them under
_ARMED, _FOUR_EYES = "[response] armed", "[response] four_eyes"
# How permissive a value is: of two the one with the larger number allows more.
_PERMISSIVE: Mapping[str, Callable[[Any], float]] = {
    _ARMED: float,
    _FOUR_EYES: lambda yes: -float(yes),
    "[response] canary": float,
    "[response] actions_per_hour": float,
    "[response] overturned_most": float,
    "[response] overturned_of": float,
    "[response] cases_per_day": float,
    "[response] evidence_for": parse_span,
    "[response] long_ban": parse_span,
    "[verdict] watch": float,
    "[verdict] act": float,
    "[verdict] agree": lambda families: -float(families),
    "[coverage] least": lambda share: -float(share),
    "[workspace] one_rater": float,
    "[workspace] account_numbers": float,
}
# What is neither more nor less permissive: another file cannot change it.
_FIXED = (
    *(name for one in fields(Response) if (name := f"[response] {one.name}") not in _PERMISSIVE),
    *(f"[challenge] {one.name}" for one in fields(ChallengeSettings)),
    "[workspace] ledger",
    "[workspace] results",  # where the head of the audit is noted
    "[retention] ledger",
)
_LISTS = {"[response] ladder": "ladder", "[response] adapter": "adapters"}


def no_more_permissive(own: Config, other: Config, file: Path) -> Config:
    """The settings of another file, with those of the response from a workspace's own where they would allow more.

    Raises:
        ConfigError: the file says expressly what would allow more, or another policy.
    """
    changed: dict[str, dict[str, Any]] = {}
    for name in (*_PERMISSIVE, *_FIXED):
        section, key = name[1:].split("] ")
        ours, theirs = (getattr(getattr(one, section), key) for one in (own, other))
        permissive = _PERMISSIVE.get(name)
        if ours == theirs or (permissive is not None and permissive(theirs) <= permissive(ours)):
            continue
        if name in other.given:
            _refuse(file, f"{name} = {written(theirs)}", f"has {written(ours)}")
        changed.setdefault(section, {})[key] = ours
    lists = {field: getattr(own, field) for field in _LISTS.values()}
    for name, field in _LISTS.items():
        if name in other.given and getattr(other, field) != lists[field]:
            _refuse(file, f"[[{name[1:].replace('] ', '.')}]]", "has another one")
    lists["sources"] = _sources(own, other, file)
    sections = {section: replace(getattr(other, section), **values) for section, values in changed.items()}
    return replace(other, **sections, **lists)


def _sources(own: Config, other: Config, file: Path) -> tuple[SourceSettings, ...]:
    """The sources of another file, or the workspace's own; where one of those has names no other has numbers only."""
    if not other.sources:
        return own.sources
    for one in other.sources:
        if one.account_numbers and one not in own.sources:
            _refuse(file, f"[[{SOURCE}]] {one.name} account_numbers = true", "has no such source")
    named = any(not one.account_numbers for one in own.sources)
    return tuple(replace(one, account_numbers=False) for one in other.sources) if named else other.sources


def _refuse(file: Path, what: str, own: str) -> None:
    raise ConfigError(
        f"{file} {what}: {FILE_NAME} of the workspace {own}, and --config cannot allow more or change the policy; "
        f"write it into {FILE_NAME}"
    )


def record_settings(ledger: "Ledger", config: Config, at: datetime, file: Path | None = None) -> None:
    """Write into the audit what has changed in the settings of the response since they were last used.

    `file` is where they come from, if not from the workspace's own. The first time they are compared with the defaults.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    new = values_of(config)
    text = canonical_json(new)
    if ledger.fact(_FACT) == text:
        return
    with ledger.writing(system_user(), at) as work:
        before = work.fact(_FACT)
        old = _defaults(lists=before is None) | json.loads(before or "{}")
        changed = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
        if changed:
            source = {} if file is None else {"--config": str(file)}
            now = {name: new.get(name) for name in changed} | source
            work.audit("change response settings", "response", {name: old.get(name) for name in changed}, now)
        work.remember(_FACT, text)


def _defaults(*, lists: bool) -> dict[str, Any]:
    """The values of a workspace that says nothing; without `lists` those of single settings only."""
    return {name: value for name, value in values_of(Config()).items() if lists or not name.startswith("[[")}


def values_of(config: Config) -> dict[str, Any]:
    """The settings of the response by name, as the audit has them: a digest of addresses, which may hold secrets."""
    found: dict[str, Any] = {}
    for name in (*_PERMISSIVE, *_FIXED):
        section, key = name[1:].split("] ")
        found[name] = getattr(getattr(config, section), key)
    found |= {f"[[{SOURCE}]] {one.name} account_numbers": True for one in config.sources if one.account_numbers}
    found |= {f"[[{RUNG}]] {one.name}": _words(one) for one in config.ladder}
    found |= {f"[[{ADAPTER}]] {one.name}": _words(replace(one, url=_named(one.url))) for one in config.adapters}
    return found


def _words(part: Any) -> str:  # noqa: ANN401  a rung or an adapter
    values = {one.name: getattr(part, one.name) for one in fields(part) if one.name != "name"}
    return ", ".join(f"{name} = {written(value)}" for name, value in values.items() if value is not None)


def _named(url: str) -> str:
    return digest(url) if url else ""
