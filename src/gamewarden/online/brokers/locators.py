"""Where a live stream is: `kafka://host:9092,host:9092/topic?group=name` or `nats://host:4222/stream`.

No secret stands here, since a command line is no place for one: names, passwords and keys come from the environment.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, short

_PORTS = {"kafka": 9092, "nats": 4222}
# What may stand behind the question mark; everything else is in the environment.
_OPTIONS = {"kafka": ("group", "from"), "nats": ("subject", "from")}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,248}")  # what both brokers take, and a directory can be called
_BEGINNINGS = ("beginning", "end")
GROUP = "gamewarden"


@dataclass(frozen=True)
class Locator:
    """A topic of Kafka, or a stream of NATS JetStream."""

    kind: str  # kafka or nats
    servers: tuple[str, ...]  # host:port each
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}://{','.join(self.servers)}/{self.name}"

    @property
    def group(self) -> str:
        """The consumer group of Kafka."""
        return self.options.get("group", GROUP)

    @property
    def subject(self) -> str:
        """What the subjects of NATS begin with; a partition's number follows."""
        return self.options.get("subject", self.name)

    @property
    def begin(self) -> str | None:
        """Where a partition without a state begins, if somebody said so."""
        return self.options.get("from")


def is_broker(text: object) -> bool:
    """Whether a text names a broker."""
    return isinstance(text, str) and text.partition("://")[0] in _PORTS


def locator_of(text: str) -> Locator:
    """The broker and topic that a text names.

    Raises:
        ConfigError: it names no host or no topic, has a password in it, or an option that is none.
    """
    try:
        parts = urlsplit(text)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise _no_locator(text) from error
    if "@" in parts.netloc:
        raise ConfigError(
            f"{parts.scheme}://…: a name and password stand before the host, where every process of this machine sees "
            "them; leave them out, and set them in the environment (docs/how-to/watch-a-broker.md)"
        )
    name = parts.path.strip("/")
    servers = tuple(_with_port(server, _PORTS[parts.scheme], text) for server in parts.netloc.split(","))
    if not _NAME.fullmatch(name) or parts.fragment:
        raise _no_locator(text)
    return Locator(parts.scheme, servers, name, _options(parts.scheme, given))


def _with_port(server: str, usual: int, text: str) -> str:
    host, colon, port = server.rpartition(":") if not server.endswith("]") else (server, "", "")
    if not colon:
        host, port = server, str(usual)
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise _no_locator(text)
    return f"{host}:{port}"


def _options(kind: str, given: list[tuple[str, str]]) -> dict[str, str]:
    options = dict(given)
    if unknown := [name for name, _ in given if name not in _OPTIONS[kind]]:
        raise ConfigError(
            f"{kind}://…: the option {short(unknown[0])} is none; known are {', '.join(_OPTIONS[kind])}, and all else "
            "is set in the environment (docs/how-to/watch-a-broker.md)"
        )
    if options.get("from", _BEGINNINGS[0]) not in _BEGINNINGS:
        raise ConfigError(f"{kind}://…: from={short(options['from'])} is no place to begin; write beginning or end")
    for name in ("group", "subject"):
        if name in options and not _NAME.fullmatch(options[name]):
            raise ConfigError(f"{kind}://…: {name}={short(options[name])} must be letters, digits, dots, - and _")
    return options


def _no_locator(text: str) -> ConfigError:
    return ConfigError(
        f"{visible(text[:200])}: this names no topic of a broker; write kafka://host:9092/topic or "
        "nats://host:4222/stream"
    )
