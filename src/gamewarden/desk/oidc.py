"""Logging in elsewhere: an OpenID provider says who somebody is and in which groups, and groups say their role.

The authorization code flow with PKCE, state and nonce. Somebody is known again by issuer and subject alone: a mail
address or a name that the provider tells never opens the account of somebody who was there before.
"""

import hmac
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from gamewarden.config import DeskSettings, desk_roles
from gamewarden.core.extras import need
from gamewarden.core.outside import cut, visible
from gamewarden.desk.logins import LoggedIn, Logins
from gamewarden.desk.people import end_sessions, refuse_taken
from gamewarden.desk_records import User
from gamewarden.errors import LoginError
from gamewarden.store.ledger.ledger import Ledger, Writing, subject_of_user

# Only signatures that a provider alone can make: none, and none by a secret that both know.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
_TIMEOUT, _LEEWAY = 10.0, 60  # seconds
_DISCOVERY = "/.well-known/openid-configuration"
_NAMED_BY = ("preferred_username", "email", "sub")
_ODD = re.compile(r"[^\w.@+-]+")
_LONGEST = 48  # letters of a name; some are left for what tells two apart
_NOBODY = "nobody"


@dataclass(frozen=True)
class Pending:
    """What a browser remembers while somebody is at the provider."""

    state: str
    nonce: str
    verifier: str
    to: str  # the page that they wanted


@dataclass(frozen=True)
class Provider:
    """An OpenID provider, and what it calls us."""

    settings: DeskSettings
    redirect: str  # where it sends people back to

    def start(self, to: str) -> tuple[str, Pending]:
        """Where to send somebody, and what their browser is to remember.

        Raises:
            LoginError: the provider cannot be asked.
            InstallError: libraries are missing.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        pending = Pending(state, nonce, verifier, to)
        with _told():
            place = _endpoint(self._metadata(), "authorization_endpoint", self._issuer)
            with self._client() as client:
                url, _ = client.create_authorization_url(
                    place, state=pending.state, nonce=pending.nonce, code_verifier=pending.verifier
                )
        return str(url), pending

    def claims(self, answer: Mapping[str, str], pending: Pending, at: datetime) -> Mapping[str, Any]:
        """What the provider says of somebody who came back.

        Raises:
            LoginError: they did not start here, the provider refused them, or what it says does not hold.
        """
        self._refuse_answer(answer, pending)
        with _told():
            metadata = self._metadata()
            with self._client() as client:
                token = client.fetch_token(
                    _endpoint(metadata, "token_endpoint", self._issuer),
                    grant_type="authorization_code",
                    code=answer["code"],
                    code_verifier=pending.verifier,
                )
            keys = self._asked(_endpoint(metadata, "jwks_uri", self._issuer))
            return self._checked(str(token.get("id_token", "")), keys, pending.nonce, at)

    def role(self, claims: Mapping[str, Any]) -> str | None:
        """The role of somebody by their groups; None where they are refused."""
        told = claims.get(self.settings.oidc_role_claim)
        groups = {told} if isinstance(told, str) else set(map(str, told)) if isinstance(told, list | tuple) else set()
        fallback = self.settings.oidc_default_role
        found = (role for group, role in desk_roles(self.settings.oidc_roles) if group in groups)
        return next(found, None if fallback == _NOBODY else fallback)

    @property
    def _issuer(self) -> str:
        return self.settings.oidc_issuer

    def _refuse_answer(self, answer: Mapping[str, str], pending: Pending) -> None:
        if not hmac.compare_digest(answer.get("state", "").encode(), pending.state.encode()):
            raise LoginError("log in: this answer of the provider was not asked for in this browser; start again")
        if answer.get("iss", self._issuer) != self._issuer:
            raise LoginError("log in: the answer is of another provider than was asked; start again")
        if "error" in answer or "code" not in answer:
            said = visible(cut(answer.get("error_description") or answer.get("error") or "no code", 200))
            raise LoginError(f"log in: the provider did not let you in ({said})")

    def _checked(self, token: str, keys: Mapping[str, Any], nonce: str, at: datetime) -> Mapping[str, Any]:
        from joserfc import jwt
        from joserfc.jwk import KeySet

        read = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type]
        client = self.settings.oidc_client
        rules = jwt.JWTClaimsRegistry(
            now=int(at.timestamp()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True, "value": client},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        rules.validate(read.claims)
        several = isinstance(read.claims["aud"], list) and len(read.claims["aud"]) > 1
        if read.claims.get("azp", None if several else client) != client:
            raise LoginError("log in: what the provider says is meant for another program")
        return read.claims

    def _client(self) -> Any:  # noqa: ANN401  authlib has no types
        from authlib.integrations.httpx_client import OAuth2Client

        secret = os.environ.get(self.settings.oidc_secret_from, "") if self.settings.oidc_secret_from else ""
        return OAuth2Client(
            self.settings.oidc_client,
            secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope=self.settings.oidc_scope,
            redirect_uri=self.redirect,
            code_challenge_method="S256",
            timeout=_TIMEOUT,
        )

    def _metadata(self) -> Mapping[str, Any]:
        found = self._asked(self._issuer.rstrip("/") + _DISCOVERY)
        if found.get("issuer") != self._issuer:
            raise LoginError("log in: the provider calls itself otherwise than [desk] oidc_issuer does; write its name")
        return found

    def _asked(self, url: str) -> Mapping[str, Any]:
        import httpx

        answer = httpx.get(url, timeout=_TIMEOUT).raise_for_status().json()
        if not isinstance(answer, dict):
            raise LoginError("log in: the provider answers with no object; look at [desk] oidc_issuer")
        return answer


def enter(logins: Logins, provider: Provider, claims: Mapping[str, Any], address: str, at: datetime) -> LoggedIn:
    """Let somebody in whom the provider has shown to be who they are; their groups say anew what they may do.

    Raises:
        LoginError: they are in no group that is let in, or were disabled here.
    """
    ledger, role = logins.ledger, provider.role(claims)
    subject = f"{claims['iss']} {claims['sub']}"
    user = next(iter(ledger.find(User, subject=subject)), None)
    if role is None or (user is not None and user.disabled):
        _turn_away(ledger, user, address, at)
        raise LoginError("log in: the provider knows you, and you are in no group that may use the desk; ask an admin")
    new = User(_free_name(ledger, claims), role, None, False, False, at, subject=subject)
    with ledger.writing(user.name if user else new.name, at) as work:
        return logins.begin(work, _as_told(work, new), address, at)


def _turn_away(ledger: Ledger, user: User | None, address: str, at: datetime) -> None:
    with ledger.writing(_NOBODY, at) as work:
        who = subject_of_user(user.name) if user else "unknown user"
        work.audit("failed log in", who, None, {"address": address})
        if user:
            end_sessions(work, user.name)


def _as_told(work: Writing, new: User) -> User:
    """Somebody as the provider tells of them now, whether they were here before or not."""
    old = next(iter(work.find(User, subject=new.subject)), None)
    if old is None:
        refuse_taken(work, new.name)
        work.add([new])
        return new
    if old.role != new.role:
        work.change(old, old := replace(old, role=new.role))
    return old


def _free_name(ledger: Ledger, claims: Mapping[str, Any]) -> str:
    """What somebody new is called here: as there, and never as somebody who is here already."""
    told = next((str(claims[name]) for name in _NAMED_BY if claims.get(name)), "somebody")
    name = _ODD.sub("-", told).strip("-.@+")[:_LONGEST] or "somebody"
    taken = {one.name.casefold() for one in ledger.find(User)} | {"ladder", "desk", "nobody", "gamewarden"}
    while name.casefold() in taken:
        name = f"{name[:_LONGEST]}-{secrets.token_hex(3)}"
    return name


def _endpoint(metadata: Mapping[str, Any], name: str, issuer: str) -> str:
    """One of the provider's addresses: as safe as that of the provider itself."""
    url = str(metadata.get(name, ""))
    if urlsplit(url).scheme not in {"https", urlsplit(issuer).scheme}:
        raise LoginError(f"log in: the provider has no {name} that is safe to ask")
    return url


@contextmanager
def _told() -> Iterator[None]:
    """Whatever goes wrong with a provider, in one line that gives no secret away."""
    need("logging in at an OpenID provider", "authlib", "joserfc", "httpx")
    import httpx
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise LoginError(f"log in: the provider does not answer ({type(error).__name__}); try later") from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
        raise LoginError(f"log in: what the provider says does not hold ({type(error).__name__})") from error
