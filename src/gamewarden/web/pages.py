"""Pages from templates: whatever they show is escaped, and what cannot be seen in it is written out."""

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from gamewarden.core.outside import plain_json, visible
from gamewarden.web.account_names import account_url
from gamewarden.web.assets import asset
from gamewarden.web.languages import LANGUAGES, Language
from gamewarden.web.sentences import told
from gamewarden.web.step_names import STEP_NAMES, step_name


def page(template: str, **values: Any) -> str:  # noqa: ANN401  each template has values of its own
    """A page, or a part of one; a value that it lacks is an error."""
    return environment().get_template(template).render(**values)


@lru_cache
def environment() -> Environment:
    """The templates, and what they may call."""
    made = Environment(
        loader=PackageLoader("gamewarden.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.newstyle_gettext = True  # type: ignore[attr-defined]  # the extension adds it: variables come by name
    made.globals |= {"_": _text, "gettext": _text, "ngettext": _plural, "asset": asset, "LANGUAGES": LANGUAGES}
    made.globals |= {"account_url": account_url, "STEPS": tuple(STEP_NAMES)}
    made.filters |= {name: _in_language(name) for name in ("number", "percent", "when", "day", "duration")}
    made.filters |= {"data": data, "field": field, "told": _told, "step": _step}
    return made


def shown(value: object) -> object:
    """What a template gives out; markup of our own as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def field(value: str) -> Markup:
    """A value of a form as it is, escaped: what a page shows is written out, what a form sends must not be."""
    return escape(value)


def data(value: object) -> Markup:
    """A value as JSON for a script of ours to read: nothing in it ends the element that holds it."""
    text = plain_json(json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  what could end it was written out


@pass_context
def _text(context: Context, message: str, **values: object) -> Markup:
    """A text in the reader's language; what is put into it is escaped."""
    return _filled(_language(context).text(message), values)


@pass_context
def _plural(context: Context, one: str, many: str, num: int, **values: object) -> Markup:
    return _filled(_language(context).plural(one, many, num), {"num": num, **values})


def _filled(text: str, values: dict[str, object]) -> Markup:
    return Markup(text) % {name: shown(value) for name, value in values.items()}  # noqa: S704  a text of ours


@pass_context
def _told(context: Context, sentence: str) -> str:
    """A sentence that rests in English, in the reader's language."""
    return told(sentence, _language(context))


@pass_context
def _step(context: Context, step: str) -> str:
    """A step by its name."""
    return step_name(step, _language(context))


def _in_language(name: str) -> Callable[..., str]:
    @pass_context
    def written(context: Context, value: Any, *options: Any) -> str:  # noqa: ANN401  numbers or times
        told: str = getattr(_language(context), name)(value, *options)
        return told

    return written


def _language(context: Context) -> Language:
    found = context.get("language")
    return found if isinstance(found, Language) else Language("en")


def _plain(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(f"a page's data holds {type(value).__name__}, which JSON cannot say")
