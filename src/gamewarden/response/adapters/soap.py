"""A command to the world server of AzerothCore or TrinityCore: SOAP over HTTP, in the name of an administrator."""

import base64
import html
import http.client
import os
import re
import time
from dataclasses import dataclass, field

from gamewarden.core.durations import SECOND, parse_span
from gamewarden.core.outside import cut, escape, visible
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError
from gamewarden.response.adapters.addresses import Place, addresses_of, resolved
from gamewarden.response.adapters.wire import Answer, Request, first_answer

_NAMESPACES = {"azerothcore": "urn:AC", "trinitycore": "urn:TC"}
_ENVELOPE = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:c="{namespace}">'
    "<e:Body><c:executeCommand><command>{command}</command></c:executeCommand></e:Body></e:Envelope>"
)
# Of an answer only these two texts are looked for: it is never parsed, so nothing in it can expand or be fetched.
_FAULT = re.compile(r"<faultstring[^<>]*>([^<]*)")
_OUR_FAULT = re.compile(r"<faultcode[^<>]*>[^<]*:Client\s*<")
_SAID = 200  # letters of an answer that people read


@dataclass(frozen=True)
class Console:
    """A world server that takes commands."""

    who: str
    place: Place
    namespace: str
    login: str = field(repr=False)  # user:password
    timeout: float

    @classmethod
    def of(cls, settings: AdapterSettings) -> "Console | None":
        """The console that the settings describe; None where they have no url.

        Raises:
            ConfigError: the url is none, or the environment has no user and password.
        """
        if not settings.url:
            return None
        login = os.environ.get(settings.secret_from, "").strip()
        user, colon, password = login.partition(":")
        if not (user and colon and password and visible(login) == login):
            raise ConfigError(
                f"[[response.adapter]] {visible(settings.name)}: {visible(settings.secret_from)} has no user:password"
                " of an administrator's account; set it in the environment"
            )
        place, namespace = Place.of(settings.url, settings.name), _NAMESPACES[settings.kind]
        return cls(settings.name, place, namespace, login, parse_span(settings.timeout) / SECOND)

    def say(self, command: str) -> None:
        """Have the server do a command.

        Raises:
            RefusedError: it does not want to.
            TryLaterError: it cannot be reached, or is in trouble.
        """
        until = time.monotonic() + self.timeout
        body = _ENVELOPE.format(namespace=self.namespace, command=escape(command)).encode()
        headers = {
            "authorization": f"Basic {base64.b64encode(self.login.encode()).decode()}",
            "content-type": "text/xml; charset=utf-8",
            "soapaction": f'"{self.namespace}#executeCommand"',
        }
        # A game's console is on this machine or in its network; what is not on this machine must be TLS.
        addresses = addresses_of(self.place, lambda host, port: resolved(host, port, self.timeout), private=True)
        self._judge(first_answer(self.who, Request(self.place, body, headers, until), addresses))

    def _judge(self, answer: Answer) -> None:
        if answer.status == http.client.OK:
            return
        if answer.status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}:
            raise RefusedError(
                f"{self.who}: the world server answers {answer.status}; SOAP needs the user:password of an account of"
                " gmlevel 3 or above"
            )
        fault = _FAULT.search(answer.text)
        said = visible(cut(" ".join(html.unescape(fault[1] if fault else "").split()), _SAID))
        text = f"{self.who}: the world server answers {answer.status} {said}".rstrip()
        raise RefusedError(text) if _OUR_FAULT.search(answer.text) else TryLaterError(text)
