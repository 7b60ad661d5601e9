"""Webhooks to a real server that fails, hangs, drips, redirects and answers late."""

import base64
import hashlib
import hmac
import json
import socket
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from carrying_made_up import LATER, NOON, decided, office
from gamewarden.cases import Action
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import RefusedError, TryLaterError, adapter_of, ways_of
from gamewarden.response.adapters.webhook import seconds_of, signed
from webhook_server import drip, explain, flood, hang, hang_up, nonsense, receiving

NO_ADDRESS = "0.0.0.0"  # noqa: S104  nothing listens there
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
ACTION = Action("k1", "d1", "ann\u202e\n", "do", "limit", "hook", "begun", NOON, until=LATER, before={})


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_WEBHOOK_SECRET", SECRET)


@pytest.fixture(autouse=True)
def only_this_machine(monkeypatch):
    """No fault in what is tested here reaches anything but this machine."""
    connect = socket.create_connection

    def to_this_machine(place, *more, **options):
        assert place[0] in {"127.0.0.1", "::1"}, f"{place[0]} would have been called"
        return connect(place, *more, **options)

    monkeypatch.setattr(socket, "create_connection", to_this_machine)


def hook(url, tmp_path, **values):
    return adapter_of(settings_of(url, **values), tmp_path)


def settings_of(url, **values):
    return AdapterSettings("hook", "webhook", url=url, **{"timeout": "500ms", "allow_private": True, **values})


def test_a_webhook_is_signed_as_standard_webhooks_want_it(tmp_path):
    with receiving() as receiver:
        receipt = hook(receiver.url, tmp_path).carry(ACTION)
        ((headers, body, path),) = receiver.requests

    names = {name.lower(): value for name, value in headers.items()}
    content = f"{names['webhook-id']}.{names['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    assert receipt == {"status": 200}
    assert names["webhook-id"] == "k1"
    assert names["webhook-signature"] == f"v1,{wanted}"
    assert names["host"] == f"127.0.0.1:{receiver.port}"
    assert path == "/hooks?game=1"
    assert json.loads(body)["data"] == {
        "key": "k1", "verb": "do", "step": "limit", "actor": "ann\u202e\n", "until": LATER.isoformat(),
        "decision": "d1",
    }  # fmt: skip


def test_the_signature_is_the_one_of_the_published_example():
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_server_that_does_not_want_it_is_not_asked_again(tmp_path, status):
    with receiving(status) as receiver, pytest.raises(RefusedError, match=str(status)):
        hook(receiver.url, tmp_path).carry(ACTION)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
def test_a_server_in_trouble_is_asked_again(tmp_path, status):
    with receiving((status, {"retry-after": "7"})) as receiver, pytest.raises(TryLaterError) as failed:
        hook(receiver.url, tmp_path).carry(ACTION)

    assert failed.value.after == 7


def test_redirects_are_not_followed(tmp_path):
    with receiving() as other, receiving((302, {"location": other.url})) as receiver:
        with pytest.raises(RefusedError, match="redirects are not followed"):
            hook(receiver.url, tmp_path).carry(ACTION)

        assert other.requests == []


def test_what_a_server_says_after_its_headers_is_read_too(tmp_path):
    with receiving(explain) as receiver, pytest.raises(RefusedError, match="422 no such account"):
        hook(receiver.url, tmp_path).carry(ACTION)


@pytest.mark.parametrize("bad", [hang, drip, flood, nonsense, hang_up])
def test_a_server_that_hangs_drips_floods_or_talks_nonsense_ends_the_attempt(tmp_path, bad):
    with receiving(bad) as receiver, pytest.raises(TryLaterError) as failed:
        hook(receiver.url, tmp_path).carry(ACTION)

    assert len(str(failed.value)) < 400
    assert "\n" not in str(failed.value)


def test_a_server_that_is_not_there_is_asked_again(tmp_path):
    with receiving() as receiver:
        url = receiver.url
    with pytest.raises(TryLaterError, match="refuses connections"):
        hook(url, tmp_path).carry(ACTION)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.8", "192.168.1.1", "169.254.169.254", "224.0.0.1", NO_ADDRESS, "100.64.0.1", "::1", "fe80::1",
     "fd00::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "ff02::1", "255.255.255.255"],
)  # fmt: skip
def test_no_address_but_a_public_one_is_connected_to(tmp_path, address):
    one = replace(hook("https://hooks.example", tmp_path, allow_private=False), resolve=lambda *_: ["1.1.1.1", address])
    with pytest.raises(RefusedError, match="not public"):
        one.carry(ACTION)


@pytest.mark.parametrize("address", ["169.254.169.254", "224.0.0.1", NO_ADDRESS, "fe80::1", "::ffff:169.254.169.254"])
def test_where_clouds_keep_credentials_nothing_goes_even_if_private_addresses_are_allowed(tmp_path, address):
    one = replace(hook("https://hooks.example", tmp_path), resolve=lambda *_: [address])
    with pytest.raises(RefusedError, match="not public"):
        one.carry(ACTION)


def test_an_address_written_as_a_number_is_looked_at_too(tmp_path):
    for url in ("https://[::1]/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/"):
        with pytest.raises(RefusedError, match="not public"):
            hook(url, tmp_path, allow_private=False).carry(ACTION)


def test_plain_http_goes_to_this_machine_only(tmp_path):
    one = replace(hook("http://hooks.example", tmp_path), resolve=lambda *_: ["10.0.0.8"])
    with pytest.raises(RefusedError, match="must be https"):
        one.carry(ACTION)


def test_a_name_is_resolved_once_and_the_address_that_was_looked_at_is_used(tmp_path):
    asked = []
    with receiving() as receiver:
        one = hook(f"http://hooks.example:{receiver.port}/", tmp_path)
        replace(one, resolve=lambda host, _: asked.append(host) or ["127.0.0.1"]).carry(ACTION)

        assert asked == ["hooks.example"]
        assert receiver.requests[0][0]["Host"] == f"hooks.example:{receiver.port}"


def test_over_tls_the_name_must_be_shown_and_not_the_address(tmp_path, monkeypatch):
    trusted, served = certificates(tmp_path, "hooks.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    asked = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    with receiving(context=context) as receiver:
        for host in ("hooks.example", "others.example"):
            one = hook(f"https://{host}:{receiver.port}/", tmp_path, timeout="5s")
            one = replace(one, resolve=lambda *_: ["127.0.0.1"])
            if host == "hooks.example":
                assert one.carry(ACTION) == {"status": 200}
            else:
                with pytest.raises(TryLaterError, match="certificate"):
                    one.carry(ACTION)

    assert asked == ["hooks.example", "others.example"]
    assert len(receiver.requests) == 1


def certificates(directory, name):
    """A certificate for a name, and the authority that vouches for it: the same one."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(who).issuer_name(who).public_key(key.public_key()).serial_number(1)
        .not_valid_before(begin).not_valid_after(begin + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    public = made.public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (directory / "trusted.pem").write_bytes(public)
    (directory / "served.pem").write_bytes(secret + public)
    return directory / "trusted.pem", directory / "served.pem"


@pytest.mark.parametrize(
    "url", ["", "ftp://a/", "https://", "https://me:pass@a/", "https://a:99999/", "https://a/\r\nx", "https://a/#b"]
)
def test_what_is_no_url_for_a_webhook_is_refused_in_a_line_without_its_password(tmp_path, url):
    with pytest.raises(ConfigError, match=r"hook: .* write https://") as refused:
        hook(url, tmp_path)

    assert "pass@" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "short", "whsec_!!!", "whsec_AAAA"])
def test_without_a_secret_nothing_is_sent_and_what_waits_says_why(tmp_path, monkeypatch, text):
    monkeypatch.setenv("GAMEWARDEN_WEBHOOK_SECRET", text)
    settings = AdapterSettings("hook", "webhook", url="https://hooks.example/")
    with pytest.raises(ConfigError, match="GAMEWARDEN_WEBHOOK_SECRET"):
        adapter_of(settings, tmp_path)

    desk = office(tmp_path, ways_of([settings], tmp_path))
    desk.decide(decided())
    desk.carry()
    assert desk.only().state == "waiting"
    assert "GAMEWARDEN_WEBHOOK_SECRET" in desk.only().error


def test_retry_after_may_be_a_date_and_nonsense_is_nothing():
    assert seconds_of("120") == 120
    assert seconds_of("Wed, 21 Oct 2065 07:28:00 GMT") > 1_000
    assert seconds_of("soon") is None
    assert seconds_of(None) is None


def test_an_action_that_fails_hangs_and_then_arrives_has_one_effect_under_one_id(tmp_path):
    with receiving(500, hang, hang_up, 429) as receiver:
        desk = office(tmp_path, ways_of([settings_of(receiver.url)], tmp_path))
        desk.decide(decided())
        now = LATER
        for _ in range(5):
            desk.carry(now)
            now = max(now, desk.only().due) + timedelta(seconds=5)

        assert desk.only().state == "done"
        assert len(receiver.requests) == 5
        assert {headers["webhook-id"] for headers, _, _ in receiver.requests} == {desk.only().id}
        assert list(receiver.effects.values()) == [1]
        assert len({body for _, body, _ in receiver.requests}) == 1


def test_the_server_may_ask_for_patience_but_not_for_ever(tmp_path):
    with receiving((503, {"retry-after": "1800"}), (503, {"retry-after": "999999999999"})) as receiver:
        desk = office(tmp_path, ways_of([settings_of(receiver.url, timeout="5s")], tmp_path))
        desk.decide(decided())
        desk.carry()
        first = desk.only().due - LATER
        desk.carry(desk.only().due + timedelta(seconds=1))
        second = desk.only().due - LATER - first

    assert timedelta(minutes=30) <= first < timedelta(minutes=31)
    assert second < timedelta(minutes=79)
