"""Idle players sleep on disk and come back as if they had never left, whatever happens in between."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.contracts import Bounds
from gamewarden.errors import ReadError, WriteError
from gamewarden.features.traffic.fold import Fold
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.online.asleep import Asleep
from gamewarden.online.forgetting import Forgetting
from gamewarden.online.sleeping import Sleeping
from gamewarden.online.watch import Pace, watch, watch_to_file
from gamewarden.tables import TRAFFIC, FramePackets
from packets_made_up import SECOND, START, client, packet_frame
from paths import SUPPORT

pytestmark = pytest.mark.integration

SMALL = TrafficTest(win=6, acn=2, acv=2, dlrt2=3, session_gap=30 * SECOND)
BOUNDS = Bounds(keep=400 * SECOND, idle=40 * SECOND)
NAMES = ["a", "b", "ab", "", "ü", "203.0.113.7:50123"]


def table_of(frame):
    return next(iter(FramePackets(frame, max(frame.height, 1)).batches()), None)


def pieces(frame, sizes):
    """The packets in batches of these sizes in turn."""
    table, begin, turn = table_of(frame), 0, 0
    while table is not None and begin < table.num_rows:
        yield table.slice(begin, sizes[turn % len(sizes)])
        begin, turn = begin + sizes[turn % len(sizes)], turn + 1


def all_in_memory(frame, sizes, test=SMALL, bounds=BOUNDS):
    """The windows, and what was counted, when nobody ever sleeps."""
    fold, parts = Fold(test, bounds.players), [pl.DataFrame(schema=dict(TRAFFIC.columns))]
    forgetting = Forgetting(fold, bounds, {})
    for batch in pieces(frame, sizes):
        parts += [fold.push(piece).frame() for piece in forgetting.pieces(batch)]
    return pl.concat(parts), fold.tally


def comers_and_goers(count=3000, seed=5, players=60, longest=25):
    """Players who are there for a while, gone for a while, and back: most of the time most of them are away."""
    draw = np.random.default_rng(seed)
    at, rows = START, []
    while len(rows) < count:
        who = int(draw.integers(players))
        for _ in range(int(draw.integers(1, longest))):
            at += int(draw.choice([SECOND // 5, SECOND, 7 * SECOND], p=[0.7, 0.25, 0.05]))
            rows.append((f"player {who} é", at, bool(draw.random() < 0.9), int(draw.choice([20, 40, 55, 70]))))
        at += int(draw.choice([0, 5, 60])) * SECOND
    return packet_frame(rows[:count])


packet = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from([0, 0, 1, 1, 2, 7, 29, 31, 45, 200, 450, -3, -500]),
    st.booleans(),
    st.integers(0, 80),
)
several = st.lists(st.tuples(packet, st.integers(1, 8)), max_size=40)


def from_draws(draws):
    steps = [one for packet, times in draws for one in [packet] + [(packet[0], 1, True, packet[3])] * (times - 1)]
    moments = START + np.cumsum([step * SECOND for _, step, _, _ in steps] or [0])
    return packet_frame([(who, int(at), up, size) for (who, _, up, size), at in zip(steps, moments, strict=False)])


@given(several, st.lists(st.integers(1, 40), min_size=1, max_size=4), st.sampled_from([1, 20, 40, 90]))
def test_whoever_slept_is_decided_upon_as_if_all_had_stayed_in_memory(draws, sizes, idle):
    frame = from_draws(draws)
    expected, counted = all_in_memory(frame, sizes)
    with Sleeping(Fold(SMALL), replace(BOUNDS, idle=idle * SECOND), {}, None) as players:
        found = [windows for batch in pieces(frame, sizes) for windows in players.take(batch)]
        tally = players.tally

    assert pl.concat([expected.clear(), *found]).equals(expected)
    assert tally.players + tally.asleep == counted.players
    assert (tally.packets, tally.bots, tally.forgotten) == (counted.packets, counted.bots, counted.forgotten)


def test_the_sleepers_of_a_usual_day_are_many_and_come_back():
    frame = comers_and_goers()
    expected, counted = all_in_memory(frame, [100])
    with Sleeping(Fold(SMALL), BOUNDS, {}, None) as players:
        found = pl.concat([windows for batch in pieces(frame, [100]) for windows in players.take(batch)])
        tally = players.tally

    assert found.equals(expected)
    assert tally.woken > 20
    assert tally.asleep > tally.players
    assert tally.forgotten == counted.forgotten > 0


@given(
    several,
    st.lists(st.integers(1, 30), min_size=1, max_size=4),
    st.lists(st.sampled_from(["go on", "save", "crash", "crash between", "stop"]), min_size=1, max_size=12),
)
def test_a_crash_at_any_point_goes_on_from_the_last_snapshot(tmp_path_factory, draws, sizes, fates):
    frame = from_draws(draws)
    expected, _ = all_in_memory(frame, sizes)
    batches = list(pieces(frame, sizes))
    place = tmp_path_factory.mktemp("sleeping")
    players, _ = Sleeping.opened(place, SMALL, BOUNDS)
    written, kept, turn, at = [], 0, 0, 0
    while at < len(batches):
        written = [*written[:at], players.take(batches[at])]
        at += 1
        fate = fates[turn % len(fates)] if turn < 4 * len(fates) else "go on"
        turn += 1
        if fate in {"save", "stop"}:
            players.save({"at": at})
        if fate == "crash between":
            players.settled()  # the sleepers are on disk, the state is not
        if fate.startswith("crash") or fate == "stop":
            players.close()
            players, note = Sleeping.opened(place, SMALL, BOUNDS)
            at = kept = note.get("at", 0)
    players.close()

    assert kept <= len(batches)
    assert pl.concat([expected.clear(), *(windows for part in written for windows in part)]).equals(expected)


def test_a_state_from_before_players_could_sleep_goes_on(tmp_path):
    frame = comers_and_goers()
    fold = Fold(SMALL)
    first = fold.push(table_of(frame[:1000])).frame()
    head, _, rest = fold.to_bytes({"mine": 1}).partition(b'"tally":{')
    tally, _, arrays = rest.partition(b"}")
    old = b",".join(part for part in tally.split(b",") if not part.startswith((b'"asleep"', b'"woken"', b'"dropped"')))
    content = (head + b'"tally":{' + old + b"}" + arrays)[len(b"gamewarden traffic state 1\n") + 65 :]
    (tmp_path / "players.state").write_bytes(
        b"gamewarden traffic state 1\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    )

    players, note = Sleeping.opened(tmp_path, SMALL, replace(BOUNDS, keep=1 << 59))
    with players:
        later = players.take(table_of(frame[1000:]))
    whole = Fold(SMALL).push(table_of(frame)).frame()
    assert len(old) < len(tally)
    assert note == {"mine": 1}
    assert players.tally.asleep > 0
    assert pl.concat([first, *later]).equals(whole)


def slept(place, frame=None):
    """Players with sleepers, saved."""
    players, _ = Sleeping.opened(place, SMALL, BOUNDS)
    with players:
        players.take(table_of(comers_and_goers() if frame is None else frame))
        players.save({})
        assert players.tally.asleep > 5
    return place / "players.state.asleep"


def test_sleepers_that_are_gone_are_not_started_afresh_in_silence(tmp_path):
    slept(tmp_path).unlink()

    with pytest.raises(ReadError, match="is not there, but the state's sleepers are in it"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)


def test_sleepers_of_another_state_are_refused(tmp_path):
    one, other = slept(tmp_path / "one"), slept(tmp_path / "other")
    one.write_bytes(other.read_bytes())

    with pytest.raises(ReadError, match="not the sleepers that the state was made with"):
        Sleeping.opened(tmp_path / "one", SMALL, BOUNDS)


def test_sleepers_of_an_earlier_time_are_refused(tmp_path):
    frame = comers_and_goers()
    place = slept(tmp_path, frame[:1500])
    early = place.read_bytes()
    for part in (frame[1500:2000], frame[2000:2500], frame[2500:]):
        players, _ = Sleeping.opened(tmp_path, SMALL, BOUNDS)
        with players:
            players.take(table_of(part))
            players.save({})
    place.write_bytes(early)

    with pytest.raises(ReadError, match="not the sleepers that the state was made with"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)


def test_a_damaged_record_wakes_nobody(tmp_path):
    place = slept(tmp_path)
    with sqlite3.connect(place) as file:
        file.execute("UPDATE asleep SET record = zeroblob(68)")
    file.close()
    players, _ = Sleeping.opened(tmp_path, SMALL, replace(BOUNDS, keep=1 << 59))

    with players, pytest.raises(ReadError, match="a sleeper's record is damaged"):
        players.take(table_of(comers_and_goers()))


def test_a_sleeper_who_was_taken_away_is_missed(tmp_path):
    place = slept(tmp_path)
    with sqlite3.connect(place) as file:
        file.execute("DELETE FROM asleep WHERE name = (SELECT min(name) FROM asleep)")
    file.close()

    with pytest.raises(ReadError, match="but the state knows"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)


def test_a_file_of_sleepers_full_of_rubbish_is_one_line(tmp_path):
    slept(tmp_path).write_bytes(b"rubbish" * 1000)

    with pytest.raises(ReadError, match="the file of sleepers is damaged"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)


def test_another_database_is_not_removed_for_sleepers(tmp_path):
    mine = tmp_path / "players.state.asleep"
    with sqlite3.connect(mine) as file:
        file.execute("CREATE TABLE precious (it TEXT)")
    file.close()

    with pytest.raises(WriteError, match="no file of sleepers"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)
    assert mine.exists()


KILLED_WHILE_MAKING = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from gamewarden.online.asleep import Asleep

def killed_before(statement):
    statements = 0
    def count(_frame, event, called):
        nonlocal statements
        if event == "c_call" and called.__name__ in ("execute", "executescript"):
            statements += 1
            if statements == statement:
                os.kill(os.getpid(), signal.SIGKILL)
    return count

state = Path(sys.argv[1])
for statement in range(1, 100):
    child = os.fork()
    if child == 0:
        sleepers = Asleep.of(state, 1, {}, 0)
        sys.setprofile(killed_before(statement))
        sleepers.wake(pa.array(["a"]))
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
    Asleep.of(state, 1, {}, 0).close()
print(statement)
"""


def test_a_watch_killed_while_it_makes_the_file_of_sleepers_starts_again(tmp_path):
    words = [sys.executable, "-c", KILLED_WHILE_MAKING, tmp_path / "players.state"]

    ended = subprocess.run(words, check=False, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 8


def test_two_watches_cannot_have_the_same_sleepers(tmp_path):
    slept(tmp_path)
    players, _ = Sleeping.opened(tmp_path, SMALL, BOUNDS)

    with players, pytest.raises(WriteError, match="another watch"):
        Sleeping.opened(tmp_path, SMALL, BOUNDS)


def test_without_a_state_nothing_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []
    tally = watch(
        FramePackets(comers_and_goers(), 100),
        SMALL,
        lambda _: seen.append(len(list(tmp_path.iterdir()))),
        bounds=BOUNDS,
    )

    assert tally.asleep > 0
    assert max(seen) == 1
    assert list(tmp_path.iterdir()) == []


def test_nobody_sleeps_where_nobody_is_forgotten(tmp_path):
    tally = watch(FramePackets(comers_and_goers()), SMALL, lambda _: None, state=tmp_path / "state")

    assert tally.asleep == 0
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_watch_to_a_file_goes_on_with_its_sleepers(tmp_path):
    frame, lines = comers_and_goers(), []
    watch(FramePackets(frame), SMALL, lines.append, bounds=replace(BOUNDS, idle=1 << 59))
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    for end in (700, 1800, 2600, frame.height):
        tally = watch_to_file(
            FramePackets(frame[:end], 50), SMALL, out, state=state, bounds=BOUNDS, pace=Pace(snapshot_packets=200)
        )

    assert out.read_text() == "".join(lines)
    assert tally.woken > 20


def test_a_filter_knows_all_who_sleep_also_after_many_came_and_went(tmp_path):
    place = Asleep(tmp_path / "s", 1)
    records = np.zeros(5000, Fold(SMALL)._records.dtype)
    for turn in range(20):
        names = pa.array([f"{turn} {number}" for number in range(5000)])
        place.lay(names, records)
        found, back = place.wake(names.slice(0, 4000))
        assert (len(found), len(back)) == (4000, 4000)
    found, _ = place.wake(pa.array([f"{turn} {number}" for turn in range(20) for number in range(3900, 5000)]))

    assert len(found) == 20 * 1000
    assert 64 * len(place.filter) < 1 << 20
    place.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_thirty_kills_at_random_moments_lose_and_double_no_decision_of_sleepers(tmp_path):
    frame = comers_and_goers(60_000, players=40, longest=400)
    source = tmp_path / "packets.arrow"
    batches = list(FramePackets(frame, 1000).batches())
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    out, state = tmp_path / "out.jsonl", tmp_path / "watch.state"
    script = SUPPORT / "watch_killed.py"

    done = subprocess.run(
        [sys.executable, script, source, out, state, "30", "7", "sleeping"],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )

    killed, beyond, different = map(int, done.stdout.split())
    lines = []
    tally = watch(FramePackets(frame), TrafficTest(), lines.append, bounds=Bounds(keep=1 << 59, idle=60 * SECOND))
    assert (killed, different) == (30, 1)
    assert beyond > 0  # else the moments proved nothing
    assert out.read_text() == "".join(lines)
    assert tally.woken > 100
    assert pl.read_ndjson(out).select("actor", "window").is_unique().all()


# Full memory


def crowd(count, start=START, step=SECOND // 1000):
    """One packet each of so many strangers."""
    return packet_frame([(f"spoofed {number}", start + number * step, True, 40) for number in range(count)])


def decided(frame, bounds, batch=1 << 20, test=SMALL):
    lines = []
    tally = watch(FramePackets(frame, batch), test, lines.append, bounds=bounds)
    return "".join(lines), tally


def known(count, packets=8, start=START):
    frames = [client([40] * packets, actor=f"known {number}", start=start) for number in range(count)]
    return pl.concat(frames).sort("at", maintain_order=True)


def test_a_flood_never_pushes_out_a_player_with_history():
    flood = crowd(5000, START + 10 * SECOND, SECOND // 100)
    late = START + 300 * SECOND
    later = known(40, 40, start=late)
    frame = pl.concat([known(40), flood, later]).sort("at", maintain_order=True)
    bounds = Bounds(players=100)
    lines, tally = decided(frame, bounds)
    quiet = decided(pl.concat([known(40), later]), bounds)

    ours = "".join(line for line in lines.splitlines(keepends=True) if "known" in line)
    assert ours == quiet[0]
    assert tally.players <= 100
    assert tally.dropped > 100
    assert tally.refused > 0
    assert '"window":6' in ours


def test_who_sends_on_is_not_dropped_for_those_who_come_after():
    active = client([40] * 60, actor="new")
    frame = pl.concat([active, crowd(3000, START, SECOND // 100)]).sort("at", maintain_order=True)
    lines, tally = decided(frame, Bounds(players=20))

    assert lines.count('"actor":"new"') == 10
    assert tally.dropped > 10


def test_a_newcomer_finds_a_place_once_others_fell_silent():
    frame = pl.concat([crowd(20), client([40] * 60, actor="new", start=START + SECOND)])
    lines, tally = decided(frame, Bounds(players=20))

    assert lines.count('"actor":"new"') == 7  # of ten windows: fifteen seconds had to pass, and a part of a window did
    assert tally.dropped == 1


def test_who_comes_back_finds_a_place_even_if_all_others_have_a_history():
    frame = pl.concat([known(10, 12), *(known(10, 12, start=START + hour * 1000 * SECOND) for hour in range(1, 4))])
    names = pl.concat([frame, client([40] * 40, actor="other", start=START + 500 * SECOND)]).sort("at")
    lines, tally = decided(names, Bounds(players=4, idle=60 * SECOND))
    free, _ = decided(names.filter(pl.col("actor").is_in(["known 0", "known 1", "known 2", "known 3"])), Bounds())

    ours = [line for line in lines.splitlines() if any(f'"known {number}"' in line for number in range(4))]
    assert sorted(ours) == sorted(free.splitlines())
    assert tally.players <= 4


def test_what_a_full_memory_lets_go_does_not_depend_on_the_batches():
    flood = crowd(900, START + 10 * SECOND, SECOND // 10)
    frame = pl.concat([known(30), flood, known(30, 40, start=START + 95 * SECOND)]).sort("at", maintain_order=True)
    bounds = Bounds(players=60, idle=35 * SECOND)
    seen = {decided(frame, bounds, batch) for batch in (1, 7, 256, 1000, 1 << 20)}

    assert len(seen) == 1
    ((_, tally),) = seen
    assert tally.dropped > 0
    assert tally.woken > 0


def test_names_have_a_limit_of_their_own():
    frame = pl.concat(
        [client([40] * 30, actor=f"{number} {'x' * 100}", start=START + number) for number in range(20)]
    ).sort("at")
    lines, tally = decided(frame, Bounds(letters=1024))

    assert tally.players == 10
    assert tally.refused == 10 * 30
    assert lines.count("\n") == 10 * 5
