"""What came since the last look: which files of a source are new, grown, rotated, changed, not settled yet or gone.

First comes a cheap look: a file of the size and time that it had is the one it was, and not a byte of it is read. Any
other is read and known by a digest of its unpacked bytes, so that `log` that became `log.1`, or `log.1.gz`, or a copy
of it, is not taken in twice. Logs go without the digest: a lake knows their content by itself.

Whoever takes files in keeps what `Known` says, and goes on from `known.after(arrival)` once a file is in. What was
taken in just before a crash then arrives once more, with the same digest.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from gamewarden.errors import ReadError, short
from gamewarden.readers.compression import Content, content_of
from gamewarden.readers.places import Place

# new: never seen; grown: begins with what was taken in; rotated: taken in already, under this or another name;
# changed: a known name with other content; same: nothing to do; unsettled: may still be written, look again later;
# gone: not there any more; failed: it cannot be read, `why` says the reason.
State: TypeAlias = Literal["new", "grown", "rotated", "changed", "same", "unsettled", "gone", "failed"]
TO_READ: tuple[State, ...] = ("new", "grown", "changed")
# Where a file's time is so close to our look, it can have changed after it without another time: clocks are coarse.
_TOO_CLOSE = 2_000_000  # microseconds


@dataclass(frozen=True)
class Note:
    """What a file looked like when it was listed."""

    size: int
    mtime: int  # microseconds
    identity: str  # which file of this machine it is, whatever its name; empty for one in a store
    at: int  # when this was first seen, microseconds
    taken: bool = False  # whether it was taken in as it is here
    gone: bool = False

    def like(self, other: "Note") -> bool:
        """Whether two looks saw the same file unchanged, as far as one can tell without reading it."""
        return (self.size, self.mtime, self.identity) == (other.size, other.mtime, other.identity)

    @property
    def sure(self) -> bool:
        """Whether the file could not have changed since without another time."""
        return self.mtime < self.at - _TOO_CLOSE


@dataclass(frozen=True)
class Known:
    """What is known of a source's files: how each looked, and every content that was taken in, with its length."""

    notes: Mapping[str, Note] = field(default_factory=dict)
    contents: Mapping[str, int] = field(default_factory=dict)

    def after(self, arrival: "Arrival") -> "Known":
        """What is known once an arrival has been dealt with: a file that had to be read is in."""
        if arrival.note is None:
            return self
        contents = {**self.contents, arrival.digest: arrival.length} if arrival.digest else self.contents
        return Known({**self.notes, arrival.name: arrival.note}, contents)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {"notes": {name: vars(note) for name, note in self.notes.items()}, "contents": dict(self.contents)}

    @classmethod
    def from_json(cls, values: object, where: str) -> "Known":
        """What was kept.

        Raises:
            ReadError: it is something else.
        """
        try:
            told: Any = values
            notes = {str(name): _note(note) for name, note in told["notes"].items()}
            return cls(notes, {str(digest): _whole(length) for digest, length in told["contents"].items()})
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise ReadError(f"{where}: is not what is known of a source's files ({short(error)}); remove it") from error


@dataclass(frozen=True)
class Arrival:
    """One file of a source, and what has become of it."""

    name: str
    state: State
    place: Place | None = None  # None: it is gone
    note: Note | None = None  # None: there is nothing new to know
    digest: str = ""  # of its unpacked bytes, where they were read
    length: int = 0  # and how many these are
    why: str = ""  # it could not be read


def arrivals(
    places: Iterable[Place], known: Known, now: int, settled: int = 0, *, by_content: bool = True
) -> Iterator[Arrival]:
    """Every file that is listed, or was, with its state; those to be read have it by their content, if that is asked.

    `now` and `settled` are microseconds. A content that is listed twice arrives once.
    """
    notes, contents = dict(known.notes), dict(known.contents)
    twins = {note.identity: note for note in notes.values() if note.taken and note.identity}
    seen: set[str] = set()
    for place in places:
        seen.add(place.name)
        if place.size is None:  # standard input
            yield Arrival(place.name, "new", place)
            continue
        before = notes.get(place.name)
        note = look(place, before, now)
        state = state_by_look(note, before, twins.get(note.identity), now, settled)
        if state is None:
            arrival = _read(place, note, before, contents) if by_content else _unread(place, note, before)
        else:
            arrival = _looked_at(place, note, before, state)
        yield arrival
        if arrival.note is not None:
            notes[place.name] = twins[note.identity] = arrival.note
        if arrival.digest:
            contents[arrival.digest] = arrival.length
    yield from _gone(known, seen)


def _looked_at(place: Place, note: Note, before: Note | None, state: State) -> Arrival:
    if state == "same" and before is not None and not before.gone:
        return Arrival(place.name, state, place)
    return Arrival(place.name, state, place, replace(note, taken=state != "unsettled"))


def _unread(place: Place, note: Note, before: Note | None) -> Arrival:
    state: State = "changed" if before is not None and before.taken else "new"
    return Arrival(place.name, state, place, replace(note, taken=True))


def _read(place: Place, note: Note, before: Note | None, contents: Mapping[str, int]) -> Arrival:
    try:
        content = content_of(place.file, sorted(set(contents.values())))
    except ReadError as error:
        return Arrival(place.name, "failed", place, why=str(error))
    state = state_by_content(content, contents, before)
    return Arrival(place.name, state, place, replace(note, taken=True), content.digest, content.size)


def look(place: Place, before: Note | None, now: int) -> Note:
    """How a file looks now; one that looks as it did, and was not taken in too soon, has done so since then."""
    note = Note(place.size or 0, place.mtime or 0, place.identity, now)
    if before is None or not note.like(before) or (before.taken and not before.sure):
        return note
    return replace(note, at=min(before.at, now))  # a clock may have been set back


def state_by_look(note: Note, before: Note | None, twin: Note | None, now: int, settled: int) -> State | None:
    """What a file's size and time say; None: it has to be read.

    `before` is how the file of this name looked, and `twin` how this very file did, under any name, when it was taken.
    """
    if before is not None and before.taken and before.sure and note.like(before):
        return "same"
    if twin is not None and twin.taken and twin.sure and note.like(twin):
        return "rotated"
    if not note.size:
        return "unsettled"  # nothing is in it yet
    # A time ahead of our clock says nothing; then it counts for how long the file has looked the same.
    still_since = note.mtime if note.mtime <= now else note.at
    return "unsettled" if settled and now - still_since < settled else None


def state_by_content(content: Content, contents: Mapping[str, int], before: Note | None) -> State:
    """What a file's content says."""
    if content.digest in contents:
        return "rotated"
    if any(0 < length < content.size and contents.get(one) == length for length, one in content.beginnings.items()):
        return "grown"
    return "changed" if before is not None and before.taken else "new"


def _gone(known: Known, seen: set[str]) -> Iterator[Arrival]:
    for name, note in known.notes.items():
        if name not in seen and not note.gone:
            yield Arrival(name, "gone", note=replace(note, gone=True))


def _note(values: Mapping[str, Any]) -> Note:
    kinds = {one.name: one.type for one in fields(Note)}
    told = {name: values[name] for name in kinds}
    if wrong := [name for name, value in told.items() if type(value) is not kinds[name]]:
        raise ValueError(f"{wrong[0]} = {short(told[wrong[0]])}")
    return Note(**told)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(short(value))
    return value
