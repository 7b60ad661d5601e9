"""Client messages as events: what a log would have said."""

import polars as pl
import pyarrow as pa
import pytest

import ragnarok_bytes as ro
from capture_bytes import CLIENT, CLIENT6, SYN, ethernet, ipv4, ipv6, pcap, tcp
from gamewarden import readers
from gamewarden.errors import ConfigError
from gamewarden.readers.ragnarok.captures import MessageCapture
from gamewarden.readers.ragnarok.events import MessageEvents
from gamewarden.readers.ragnarok.message_table import MessageTable, parse_packet_db
from gamewarden.readers.ragnarok.streams import MessageFile
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS, check

SECOND = 1_000_000
AT = 1_700_000_000 * SECOND
MORE = parse_packet_db(
    """0x00e4,6,traderequest,2
0x00e6,3,tradeack,2
0x00eb,2,tradeok,0
0x00ed,2,tradecancel,0
0x008c,11,getcharnamerequest,7
0x0200,4
0x00bf,3,emotion,2""".splitlines(),
    "more",
)
DB = MessageTable("both", {**thesis_profile().entries, **MORE.entries})


def number(identity, size, **parts):
    out = bytearray(identity.to_bytes(2, "little") + bytes(size - 2))
    for place, value, width in parts.values():
        out[place : place + width] = value.to_bytes(width, "little")
    return bytes(out)


OFFER, NOTHING = ro.offer(30, 5), ro.offer(0, 0)
COMMIT, CANCEL, ASK = number(0xEF, 2), number(0xED, 2), number(0xE4, 6, target=(2, 7, 4))
AGREE, ANSWER = number(0xEB, 2), number(0xE6, 3, reply=(2, 3, 1))


def events(messages, *, batch=1 << 16, tagged=True):
    """EVENTS of messages a second apart, and what was said beside them."""
    data = b"".join((ro.tag(AT + n * SECOND) if tagged else b"") + message for n, message in enumerate(messages))
    log = MessageEvents("made up", MessageFile(ro.Given(data), DB, batch=batch), DB)
    batches = list(log.batches(tuple(EVENTS.columns)))
    frame = pl.from_arrow(pa.Table.from_batches(batches)) if batches else pl.DataFrame(schema=EVENTS.columns)
    return check(pl.DataFrame(frame), EVENTS, "test"), log.notes


def kinds(messages, **options):
    frame, _ = events(messages, **options)
    return [kind for kind in frame["kind"] if not kind.startswith("session.")]


@pytest.mark.parametrize(
    ("message", "row"),
    [
        (ro.walk(150, 200), {"kind": "move", "x": 150.0, "y": 200.0}),
        (ro.action(7, 110_014), {"kind": "combat.attack", "target": "110014"}),
        (ro.action(0, 5), {"kind": "combat.attack", "target": "5"}),
        (ro.action(2, 5), {"kind": "rest.sit"}),
        (ro.take(53), {"kind": "loot.pickup", "target": "53"}),
        (ro.loaded(), {"kind": "zone.enter"}),
        (ro.whisper(), {"kind": "chat"}),
        (ro.face(), {"kind": "turn"}),
        (number(0x94, 14, amount=(10, 40, 4)), {"kind": "storage.deposit", "amount": -40.0}),
        (number(0xF7, 22, amount=(18, 9, 4)), {"kind": "storage.withdraw", "amount": 9.0}),
        (number(0x116, 10, amount=(8, 3, 2)), {"kind": "loot.drop", "amount": -3.0}),
        (number(0x72, 25, skill=(10, 19, 2), target=(21, 77, 4)), {"kind": "skill.use", "target": "77"}),
        (number(0x113, 22, x=(12, 90, 2), y=(20, 91, 2)), {"kind": "skill.use", "x": 90.0, "y": 91.0}),
        (number(0x9F, 14), {"kind": "item.use"}),
        (number(0xC9, 4, length=(2, 4, 2)), {"kind": "npc.sell"}),
        (number(0xBF, 3), {"kind": "client.emotion"}),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_a_message_becomes_the_event_a_log_would_have(message, row):
    frame, _ = events([ro.connect(), message])

    told = frame.row(1, named=True)
    assert {name: told[name] for name in row} == row
    assert (told["actor"], told["character"]) == ("2000002", "150002")


def test_a_session_is_a_login_its_acts_and_a_logout_at_its_last_message():
    frame, _ = events([ro.connect(1, 11), ro.walk(1, 1), ro.tick(), ro.connect(2, 22), ro.walk(2, 2)], batch=2)

    assert frame.filter(pl.col("actor") == "1")["kind"].to_list() == ["session.login", "move", "session.logout"]
    assert frame.filter(pl.col("actor") == "2")["kind"].to_list() == ["session.login", "move", "session.logout"]
    ends = frame.filter(pl.col("kind") == "session.logout")["at"].to_physical().to_list()
    assert ends == [AT + 2 * SECOND, AT + 4 * SECOND]
    assert frame["session"].n_unique() == 2
    assert frame["session"][0] == "11@2023-11-14T22:13:20.000000Z"
    assert frame["seq"].to_list() == list(range(frame.height))


@pytest.mark.parametrize(
    ("around", "kind", "address"),
    [(ipv4, 0x0800, CLIENT), (ipv6, 0x86DD, CLIENT6)],
    ids=["of four bytes", "of sixteen bytes"],
)
def test_an_address_stands_bare_without_its_port(around, kind, address):
    segments = [tcp(50_000, 5121, 99, 0, SYN), tcp(50_000, 5121, 100) + ro.connect()]
    frames = [ethernet(around(segment), kind) for segment in segments]
    log = MessageEvents("tap", MessageCapture(ro.Given(pcap(frames)), DB, (5121,)), DB)

    told = pa.Table.from_batches(log.batches(("kind", "ip"))).to_pylist()

    assert {row["ip"] for row in told} == {address}


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize(
    ("messages", "given"),
    [
        ([ASK, OFFER, ro.offer(30, 6), COMMIT], 2),
        ([ASK, OFFER, CANCEL, ASK, COMMIT], 0),
        ([OFFER, COMMIT, OFFER, CANCEL, OFFER, COMMIT, COMMIT], 2),
        ([OFFER, ro.connect(), COMMIT], 0),
        ([ASK, OFFER, AGREE, ro.offer(30, 6), COMMIT], 1),
    ],
    ids=["committed", "cancelled", "several", "another session", "too late"],
)
def test_what_was_offered_is_given_when_this_side_commits(messages, given, batch):
    frame, _ = events([ro.connect(), *messages], batch=batch)

    gifts = frame.filter(pl.col("kind") == "trade.give")
    assert gifts["amount"].to_list() == [-30.0] * given
    assert frame.filter(pl.col("kind") == "trade.offer").height == sum(m[:2] == OFFER[:2] for m in messages)


@pytest.mark.parametrize("batch", [1, 100])
def test_the_hub_of_a_star_that_offers_nothing_gives_nothing(batch):
    frame, notes = events([ro.connect(), *[ANSWER, NOTHING, AGREE, COMMIT] * 11], batch=batch)

    assert not set(frame["kind"]) & {"trade.give", "trade.offer"}
    assert (frame["kind"] == "trade.commit").sum() == 11
    assert "11 messages left out of the events: an offer of nothing" in notes


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize(
    ("offers", "given"),
    [
        ([ro.offer(40, 5), ro.offer(7200, 0)], [(None, -40.0), ("zeny", -7200.0)]),
        ([ro.offer(40, 5), ro.offer(2, 5), ro.offer(3, 6)], [(None, -42.0), (None, -3.0)]),
        ([ro.offer(500, 0), ro.offer(900, 0)], [("zeny", -900.0)]),
        ([ro.offer(500, 0), NOTHING, OFFER], [(None, -30.0)]),
        ([ro.offer(0, 9), OFFER], [(None, -30.0)]),
    ],
    ids=["zeny beside items", "more of one item", "zeny anew", "zeny taken back", "none of an item"],
)
def test_a_gift_is_what_the_trade_window_held_with_zeny_told_apart(offers, given, batch):
    frame, _ = events([ro.connect(), ASK, *offers, AGREE, COMMIT], batch=batch)

    assert frame.filter(pl.col("kind") == "trade.give").select("item", "amount").rows() == given


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize(
    ("messages", "partners"),
    [
        ([ASK, OFFER, COMMIT], {"7"}),
        ([ANSWER, OFFER, COMMIT], {None}),
        ([ASK, CANCEL, OFFER, COMMIT], {None}),
        ([ASK, OFFER, COMMIT, ANSWER, OFFER, COMMIT], {"7", None}),
        ([ASK, ro.connect(), OFFER, COMMIT], {None}),
    ],
    ids=["asked", "was asked", "had cancelled", "asked and was asked", "another session"],
)
def test_the_partner_of_a_trade_is_known_to_the_side_that_asked(messages, partners, batch):
    frame, _ = events([ro.connect(), *messages], batch=batch)

    assert set(frame.filter(pl.col("kind") == "trade.give")["other"]) == partners
    assert set(frame.filter(pl.col("kind") == "trade.commit")["other"]) == partners
    assert frame.filter(pl.col("kind") == "session.logout")["other"].is_null().all()


def test_what_cannot_be_an_event_is_left_out_and_counted():
    _, notes = events([ro.tick(), ro.connect(), ro.tick(), number(0x200, 4), number(0x8C, 11)])
    untimed, silent = events([ro.connect(), ro.walk(1, 1)], tagged=False)

    assert "1 message left out of the events: no connect message told the account" in notes
    assert "2 messages left out of the events: the client says them by itself" in notes
    assert "1 message left out of the events: their id has no function in the message table" in notes
    assert untimed.height == 0
    assert "2 messages left out of the events: a stream without tags tells no time" in silent


def test_the_size_of_the_batches_does_not_matter():
    acts = (ro.walk, lambda *_: OFFER, lambda *_: COMMIT, lambda *_: ro.tick())
    messages = [ro.connect(n % 3, n % 3) if n % 17 == 0 else acts[n % 4](n, n) for n in range(90)]
    whole, _ = events(messages)

    for batch in (1, 3, 50):
        frame, _ = events(messages, batch=batch)
        key = ["actor", "at", "kind", "x"]
        assert frame.drop("seq").sort(key).equals(whole.drop("seq").sort(key))


def test_a_lake_takes_a_stream_in_once_and_anew_when_it_has_grown(tmp_path):
    path, lake = tmp_path / "a.adam", tmp_path / "lake"
    path.write_bytes(ro.tag(AT) + ro.connect() + ro.walk(1, 1))

    first = Lake(lake).add(readers.open(path, reader="ragnarok").log())
    again = Lake(lake).add(readers.open(path, reader="ragnarok").log())
    path.write_bytes(path.read_bytes() + ro.tag(AT + SECOND) + ro.walk(2, 2))
    grown = Lake(lake).add(readers.open(path, reader="ragnarok").log())

    assert (first.new, again.new, again.known, grown.new) == (3, 0, 3, 4)
    rows = sum(batch.num_rows for batch in Lake(lake).events().batches(("kind",)))
    assert rows == 4


def test_a_reader_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="ragnarok"):
        readers.open(tmp_path / "x", reader="chess")
