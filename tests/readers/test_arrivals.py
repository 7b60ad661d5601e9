"""What came since the last look, told from real files that rotate as real ones do."""

import gzip
import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ReadError
from gamewarden.readers import arrivals as module
from gamewarden.readers.arrivals import TO_READ, Arrival, Known, Note, arrivals, state_by_look
from gamewarden.readers.places import Place, places

SECOND = 1_000_000
LONG_AGO = 1_700_000_000


class Folder:
    """A directory whose files are written at times we choose, and what is known of it."""

    def __init__(self, path, **options):
        self.path = path
        self.clock = LONG_AGO
        self.known = Known()
        self.taken = []  # contents in the order in which they were taken in
        self.options = options

    def write(self, name, data, *, append=False):
        self.clock += 10
        with (self.path / name).open("ab" if append else "wb") as file:
            file.write(data)
        os.utime(self.path / name, (self.clock, self.clock))

    def look(self, *, later=10, settled=0):
        """Every file's state, as whoever takes them in goes on."""
        self.clock += later
        listed = list(places(f"{self.path}/*"))
        states = {}
        for arrival in arrivals(listed, self.known, self.clock * SECOND, settled, **self.options):
            states[Path(arrival.name).name] = arrival.state
            if arrival.state in TO_READ:
                self.taken.append(unpacked(Path(arrival.name)))
            self.known = Known.from_json(json.loads(json.dumps(self.known.after(arrival).as_json())), "here")
        return states


def unpacked(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_file_is_new_once_and_then_the_same(folder):
    folder.write("a.pcap", b"one")

    assert folder.look() == {"a.pcap": "new"}
    assert folder.look() == {"a.pcap": "same"}
    assert folder.taken == [b"one"]


def test_a_file_that_looks_as_it_did_is_not_read(folder, monkeypatch):
    folder.write("a.pcap", b"one")
    folder.look()
    monkeypatch.setattr(module, "content_of", None)

    assert folder.look() == {"a.pcap": "same"}


def test_a_log_is_looked_at_without_reading_a_byte(tmp_path, monkeypatch):
    folder = Folder(tmp_path, by_content=False)
    monkeypatch.setattr(module, "content_of", None)
    folder.write("a.log", b"one\n")

    assert folder.look() == {"a.log": "new"}
    assert folder.look() == {"a.log": "same"}
    folder.write("a.log", b"two\n", append=True)
    assert folder.look() == {"a.log": "changed"}
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    assert folder.look() == {"a.log": "gone", "a.log.1": "rotated"}


def test_a_file_that_grows_is_told_from_one_that_changes(folder):
    folder.write("a.pcap", b"one")
    folder.write("b.pcap", b"two")
    folder.look()
    folder.write("a.pcap", b" more", append=True)
    folder.write("b.pcap", b"another")

    assert folder.look() == {"a.pcap": "grown", "b.pcap": "changed"}


def test_rotation_by_renaming_takes_each_content_once(folder):
    folder.write("log.1", b"older")
    folder.write("log", b"newer")
    folder.look()
    (folder.path / "log.1").rename(folder.path / "log.2")
    (folder.path / "log").rename(folder.path / "log.1")
    folder.write("log", b"newest")

    assert folder.look() == {"log": "changed", "log.1": "rotated", "log.2": "rotated"}
    assert folder.taken == [b"newer", b"older", b"newest"]


def test_rotation_by_copying_and_cutting_takes_each_content_once(folder):
    folder.write("log", b"one\n")
    folder.look()
    folder.write("log", b"two\n", append=True)
    folder.look()
    shutil.copyfile(folder.path / "log", folder.path / "log.1")
    folder.write("log", b"three\n")

    assert folder.look() == {"log": "changed", "log.1": "rotated"}
    assert folder.taken == [b"one\n", b"one\ntwo\n", b"three\n"]


def test_a_log_that_grew_before_it_was_copied_and_cut_is_grown_under_its_new_name(folder):
    folder.write("log", b"one\n")
    folder.look()
    folder.write("log", b"two\n", append=True)
    shutil.copyfile(folder.path / "log", folder.path / "log.1")
    folder.write("log", b"three\n")

    assert folder.look() == {"log": "changed", "log.1": "grown"}


def test_packing_a_rotated_file_changes_nothing(folder):
    folder.write("log.1", b"one\n" * 100)
    folder.look()
    folder.write("log.1.gz", gzip.compress(b"one\n" * 100))
    (folder.path / "log.1").unlink()

    assert folder.look() == {"log.1": "gone", "log.1.gz": "rotated"}
    assert len(folder.taken) == 1


def test_a_file_that_is_gone_is_said_to_be_so_once_and_known_when_it_comes_back(folder):
    folder.write("a.pcap", b"one")
    folder.look()
    (folder.path / "a.pcap").rename(folder.path.parent / "elsewhere")

    assert folder.look() == {"a.pcap": "gone"}
    assert folder.look() == {}
    shutil.copy2(folder.path.parent / "elsewhere", folder.path / "a.pcap")
    assert folder.look()["a.pcap"] in {"same", "rotated"}
    (folder.path / "a.pcap").unlink()
    assert folder.look() == {"a.pcap": "gone"}
    folder.write("b.pcap", b"one")
    assert folder.look() == {"b.pcap": "rotated"}
    assert folder.taken == [b"one"]


def test_a_file_without_a_byte_is_not_settled(folder):
    folder.write("a.pcap", b"")

    assert folder.look(later=1_000) == {"a.pcap": "unsettled"}
    folder.write("a.pcap", b"one")
    assert folder.look() == {"a.pcap": "new"}


def test_two_copies_that_come_together_are_taken_in_once(folder):
    folder.write("a.pcap", b"one")
    folder.write("b.pcap", b"one")

    assert folder.look() == {"a.pcap": "new", "b.pcap": "rotated"}


def test_a_file_is_not_settled_until_it_has_been_still_for_so_long(folder):
    folder.write("a.pcap", b"one")

    assert folder.look(later=5, settled=60 * SECOND) == {"a.pcap": "unsettled"}
    folder.write("a.pcap", b"two", append=True)
    assert folder.look(later=59, settled=60 * SECOND) == {"a.pcap": "unsettled"}
    assert folder.look(later=1, settled=60 * SECOND) == {"a.pcap": "new"}
    assert folder.look(later=1, settled=60 * SECOND) == {"a.pcap": "same"}
    assert folder.taken == [b"onetwo"]


def test_a_time_ahead_of_our_clock_does_not_keep_a_file_out_for_ever(folder):
    folder.write("a.pcap", b"one")
    ahead = folder.clock + 1_000_000
    os.utime(folder.path / "a.pcap", (ahead, ahead))

    assert folder.look(settled=60 * SECOND) == {"a.pcap": "unsettled"}
    assert folder.look(later=61, settled=60 * SECOND) == {"a.pcap": "new"}


def test_a_change_within_the_same_tick_of_the_clock_is_seen(folder):
    folder.write("a.pcap", b"one")
    written = folder.clock
    folder.look(later=0)
    (folder.path / "a.pcap").write_bytes(b"two")
    os.utime(folder.path / "a.pcap", (written, written))

    assert folder.look() == {"a.pcap": "changed"}
    assert folder.taken == [b"one", b"two"]


def test_a_file_that_cannot_be_read_is_said_so_and_tried_again(folder):
    folder.write("a.gz", gzip.compress(b"one" * 1000)[:-5])
    folder.write("b.pcap", b"two")

    assert folder.look() == {"a.gz": "failed", "b.pcap": "new"}
    folder.write("a.gz", gzip.compress(b"one" * 1000))
    assert folder.look() == {"a.gz": "new", "b.pcap": "same"}


def test_a_file_that_vanishes_before_it_is_read_is_said_so(folder):
    folder.write("a.pcap", b"one")
    listed = list(places(f"{folder.path}/*"))
    (folder.path / "a.pcap").unlink()

    (arrival,) = arrivals(listed, Known(), folder.clock * SECOND)

    assert (arrival.state, "No such file" in arrival.why) == ("failed", True)


def test_what_was_taken_in_just_before_a_crash_arrives_again_with_the_same_digest(folder):
    folder.write("a.pcap", b"one")
    listed = list(places(f"{folder.path}/*"))

    (first,), (again,) = (list(arrivals(listed, Known(), folder.clock * SECOND)) for _ in range(2))

    assert first.digest == again.digest == sha256(b"one").hexdigest()


def test_standard_input_always_arrives():
    for by_content in (True, False):
        (arrival,) = arrivals(places("-"), Known(), 0, by_content=by_content)

        assert (arrival.name, arrival.state, Known().after(arrival)) == ("-", "new", Known())


def test_a_file_in_a_store_has_no_identity_and_is_known_by_name_size_and_time():
    place = Place(Path("/nowhere"), 5, 1)
    known = Known({"/other": Note(5, 1, "", at=10 * SECOND, taken=True)})

    arrival, _ = arrivals([place], known, 20 * SECOND)

    assert arrival.state == "failed"  # it had to be read


NOTES = st.builds(
    Note,
    st.integers(0, 2),
    st.integers(0, 9 * SECOND),
    st.sampled_from(["", "1", "2"]),
    st.integers(0, 9 * SECOND),
    st.booleans(),
)


@given(NOTES, st.none() | NOTES, st.none() | NOTES, st.integers(0, 20 * SECOND), st.integers(0, 9 * SECOND))
def test_only_a_file_that_was_taken_in_just_as_it_is_goes_unread_for_good(note, before, twin, now, settled):
    state = state_by_look(note, before, twin, now, settled)

    if state in {"same", "rotated"}:
        assert any(one is not None and one.taken and one.sure and note.like(one) for one in (before, twin))
    else:
        assert state in {"unsettled", None}
    assert state != "unsettled" or settled > 0 or note.size == 0


@given(
    st.dictionaries(st.text(max_size=4), NOTES, max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(0), max_size=3),
)
def test_what_is_known_comes_back_from_json(notes, contents):
    known = Known(notes, contents)

    assert Known.from_json(json.loads(json.dumps(known.as_json())), "here") == known


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["notes", "contents", "a", "size"]), inner)
    ),
)


@given(JSON)
def test_any_json_is_what_is_known_or_one_line(values):
    try:
        line = str(Known.from_json(values, "here"))[:0]
    except ReadError as error:
        line = str(error)

    assert not line or line.startswith("here: is not what is known")
    assert "\n" not in line


NAMES = ("log", "log.1", "log.2", "other")
STEPS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(NAMES)),
    st.tuples(st.just("replace"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("copy"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("pack"), st.sampled_from(NAMES)),
    st.tuples(st.just("touch"), st.sampled_from(NAMES)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("look")),
)


def step(folder, number, what, *names):
    """What people and programs do with logs."""
    there = [folder.path / name for name in names]
    if what in {"append", "replace"}:
        folder.write(names[0], b"%d\n" % number, append=what == "append")
    elif what == "look":
        folder.look()
    elif there[0].exists():
        if what == "touch":
            folder.write(names[0], b"", append=True)
        elif what == "remove":
            there[0].unlink()
        elif what == "pack":
            folder.write(f"{names[0]}.gz", gzip.compress(unpacked(there[0])))
            there[0].unlink()
        elif there[0] != there[1]:
            shutil.copy2(*there) if what == "copy" else there[0].rename(there[1])


@given(st.lists(STEPS, max_size=14))
def test_whatever_is_done_to_files_every_content_that_is_there_is_taken_in_exactly_once(steps):
    with TemporaryDirectory() as place:
        folder = Folder(Path(place))
        for number, one in enumerate(steps):
            step(folder, number, *one)
        folder.look()

        there = [unpacked(path) for path in folder.path.iterdir()]
        assert set(there) <= set(folder.taken)
        assert len(folder.taken) == len(set(folder.taken))
        assert set(folder.look().values()) <= {"same"}


def test_many_files_are_looked_at_in_a_time_that_grows_with_their_number():
    calls = []

    class Counted(Note):
        def like(self, other):
            calls.append(1)
            return super().like(other)

    listed = [Place(Path(f"/f{number}"), 5, 1, str(number)) for number in range(2_000)]
    known = Known({place.name: Counted(5, 1, place.identity, at=10 * SECOND, taken=True) for place in listed})

    assert {arrival.state for arrival in arrivals(listed, known, 20 * SECOND)} == {"same"}
    assert len(calls) <= 3 * len(listed)


def test_an_arrival_that_says_nothing_new_leaves_what_is_known():
    known = Known({"a": Note(1, 1, "", 1)}, {"x": 1})

    assert known.after(Arrival("a", "same")) is known
