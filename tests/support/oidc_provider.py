"""A small OpenID provider on this machine: discovery, authorization with PKCE, tokens and keys, as real ones have them.

What it says can be changed: `claims` are put over those of a proper ID token, `sign` makes it.
"""

import base64
import hashlib
import json
import secrets
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "desk", "a secret of the client"


class Provider:
    """One provider; somebody who is sent to it is logged in at once, as `subject` with `claims`."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
        self.subject, self.claims, self.metadata = "s-1", {}, {}
        self.sign = lambda claims: jwt.encode({"alg": "RS256", "kid": "first"}, claims, self.key)
        self.error = None
        self.codes = {}
        self.asked = []  # the answers to the token endpoint's questions: what clients sent

    def discovery(self):
        places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        told = {"issuer": self.issuer, **{name: self.issuer + path for name, path in places.items()}}
        return {**told, "id_token_signing_alg_values_supported": ["RS256"], **self.metadata}

    def keys(self):
        return KeySet([self.key]).as_dict(private=False)

    def authorize(self, asked):
        """Where somebody is sent back to."""
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        back = {"state": asked["state"], "iss": self.issuer}
        if self.error:
            return f"{asked['redirect_uri']}?{urlencode({**back, 'error': self.error})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({**back, 'code': code})}"

    def token(self, sent, authorization):
        """What is answered for a code, as status and JSON."""
        self.asked.append(sent)
        given = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        asked = self.codes.pop(sent.get("code"), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        proven = asked and asked["code_challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if authorization != f"Basic {given}":
            return 401, {"error": "invalid_client"}
        if not proven or sent.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}

    def id_token(self, nonce):
        now = int(time.time())
        proper = {"iss": self.issuer, "sub": self.subject, "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": nonce}
        return self.sign({name: value for name, value in {**proper, **self.claims}.items() if value is not None})


@contextmanager
def served():
    """A provider that answers on a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.provider = Provider(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        provider, url = self.server.provider, urlsplit(self.path)
        if url.path == "/authorize":
            self.send_response(302)
            self.send_header("Location", provider.authorize(dict(parse_qsl(url.query))))
            self.end_headers()
        elif url.path == "/.well-known/openid-configuration":
            self._answer(200, provider.discovery())
        else:
            self._answer(200 if url.path == "/keys" else 404, provider.keys())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(*self.server.provider.token(dict(parse_qsl(body)), self.headers.get("Authorization")))

    def _answer(self, status, value):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_words):
        """Nobody reads it."""
