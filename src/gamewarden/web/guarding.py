"""What holds for every answer: asked of a name of ours, begun on a page of ours, with headers that bind browsers."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gamewarden.config import DeskSettings
from gamewarden.web.security import SAFE_METHODS

_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LARGEST = 8 << 20  # bytes of a form; the framework takes a thousand fields of a MiB each
STREAMS = frozenset({"/events", "/packets"})  # these look at who sends before they read, and have limits of their own
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_OF_OURS = frozenset({"same-origin", "none"})


class Guarded:
    """Turns away what is not asked of us or not from our pages, and puts headers on every answer."""

    def __init__(self, app: ASGIApp, settings: DeskSettings) -> None:
        self.app = app
        self.public = urlsplit(settings.public_url)
        further = (name.strip().lower() for name in settings.hosts.split(","))
        self.names = _HERE | {name for name in (self.public.hostname, *further) if name}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refusal(scope) or self.app
        await answer(scope, receive if scope["path"] in STREAMS else _small(receive), guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """The answer to a request that is not looked at; None where it is."""
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            name = "The desk does not go by this name; set public_url or hosts in [desk] of warden.toml.\n"
            return PlainTextResponse(name, 400)
        by_token = headers.get("authorization", "").lower().startswith("bearer ")
        if scope["method"] in SAFE_METHODS or by_token or self._from_here(headers):
            return None
        return PlainTextResponse("This was sent by a page of another site.\n", 403)

    def _is_ours(self, host: str) -> bool:
        """Whether we go by a name; a page elsewhere can make its own name mean our address, but no address."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.names or _is_address(name)

    def _from_here(self, headers: Headers) -> bool:
        """Whether an act begins on a page of ours, as far as the browser says."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site not in _OF_OURS:
            return False
        return origin is None or _place(origin) in {headers.get("host", "").lower(), self.public.netloc.lower()}


def _small(receive: Receive) -> Receive:
    """A body that ends where it is too large for any form: it is read before anybody knows who sent it."""
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST:
            raise HTTPException(413)
        return message

    return received


def _place(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower() or "nowhere"
    except ValueError:
        return "nowhere"


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
