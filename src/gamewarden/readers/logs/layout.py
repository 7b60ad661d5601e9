"""How a text file is written: in which letters, whether its first line names the columns, and how it says null."""

import codecs
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from gamewarden.errors import ConfigError
from gamewarden.readers.compression import CHUNK, Unpacked
from gamewarden.readers.logs.line_patterns import LinePattern
from gamewarden.readers.places import File

NULLS = (r"\N", "NULL")  # as MySQL, PostgreSQL and their tools export them
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# In the order in which a tie is settled: games with logs in these letters are met most often in Korea.
_GUESSES = ("cp949", "cp932", "gb18030", "big5", "euc-jp", "cp1251", "cp1252")
_SAMPLE = 1 << 16
_NO_TEXT = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "utf_7")  # of the net, of programs
_SHOWN = 3
_IN_USE = 2  # bytes


@dataclass(frozen=True)
class Layout:
    """What `[file]` and `[line]` of a mapping say of a text; the encoding holds for JSON Lines too."""

    encoding: str | None = None  # UTF-8, or what a byte order mark says
    header: bool = True  # the first line names the columns
    names: tuple[str, ...] = ()  # their names where no line does; without any they are called 1, 2, 3 …
    null: tuple[str, ...] | None = None  # instead of NULLS, and in quotes too
    line: LinePattern | None = None  # how each line reads where nothing delimits its fields

    @property
    def nulls(self) -> tuple[str, ...]:
        """What stands for null beside an empty field."""
        return NULLS if self.null is None else self.null


PLAIN = Layout()


def known_encoding(name: object) -> str:
    """The name of an encoding that Python can read a piece at a time.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(name, str) and name.lower() not in _NO_TEXT and _reads_text(name):
        return name
    raise ConfigError(
        f"encoding {name!r} is unknown; write for example cp949, euc-kr, shift_jis, gb18030, big5 or utf-16"
    )


def _reads_text(name: str) -> bool:
    try:
        written = "a,1\n".encode(name)  # which refuses codecs that are no text, such as hex
        return codecs.getincrementaldecoder(name)().decode(written, final=True) == "a,1\n"
    except (LookupError, ValueError, TypeError):
        return False


def encoding_of(head: bytes, said: str | None) -> str | None:
    """The encoding of a file by its first bytes, else as it was said; None is UTF-8. A byte order mark wins."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    found = marked or said
    known = None if found is None else codecs.lookup(found).name
    if known in {"utf-16", "utf-32"} and marked is None:  # which Python refuses: without a mark, as Windows writes it
        return f"{known}-le"
    return None if known in {None, "utf-8", "ascii", "utf-8-sig"} else found


def advice(path: File, said: str | None) -> str:
    """Where a file first holds what its encoding has no letter for, and what to say in its mapping."""
    found = _first_fault(path, said or "utf-8")
    if found is None:
        return "say its encoding under [file] in a mapping file"
    place, sample = found
    guesses = [name for name in likely_encodings(sample) if name != said][:_SHOWN]
    perhaps = " or ".join(f'encoding = "{name}"' for name in guesses) or "its encoding"
    return f"byte {place:,} is the first that is not {said or 'UTF-8'}; say {perhaps} under [file] in a mapping file"


def other_encoding(head: bytes) -> str | None:
    """The encoding in which the first bytes of a text make most sense, where they are not UTF-8."""
    if any(head.startswith(mark) for mark in _MARKS):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        return next(iter(likely_encodings(_lines_around(head, error.start))), None)
    return None


def likely_encodings(sample: bytes) -> list[str]:
    """The encodings in which a text makes sense, the likeliest first."""
    weighed = {name: weight for name in _GUESSES if (weight := _sense(sample, name)) is not None}
    return sorted(weighed, key=lambda name: -weighed[name])


def _sense(sample: bytes, encoding: str) -> float | None:
    """How much of what is not ASCII is a letter in common use; none if a byte means nothing."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(sample)  # a letter cut off at the end is no fault
    except UnicodeDecodeError:
        return None
    letters = [letter for letter in text if not letter.isascii()]
    # Two letters of Western Europe in a row make one of East Asia: fewer letters that make sense explain more bytes.
    bytes_each = sum(len(letter.encode(encoding)) for letter in letters) / max(len(letters), 1)
    return bytes_each * sum(map(_commonness, letters)) / max(len(letters), 1)


def _commonness(letter: str) -> float:
    if "가" <= letter <= "힣":  # of 11,172 syllables 2,350 are in use: those with two bytes in euc-kr
        return 1.0 if len(letter.encode("euc-kr")) == _IN_USE else 0.0
    if "ぁ" <= letter <= "ヿ":
        return 1.0
    if "一" <= letter <= "鿿":
        return 0.6
    return 0.4 if unicodedata.category(letter)[0] == "L" and not "\uff61" <= letter <= "\uffdc" else 0.0


def _first_fault(path: File, encoding: str) -> tuple[int, bytes] | None:
    """The place of the first byte that is none of the encoding, and what stands around it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    place = 0
    for chunk in _chunks(path):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            start = max(0, error.start - held)
            return place + error.start - held, _lines_around(chunk, start)
        place += len(chunk)
    return None


def _lines_around(chunk: bytes, start: int) -> bytes:
    begin = chunk.rfind(b"\n", 0, start) + 1
    return chunk[begin : begin + _SAMPLE]


def _chunks(path: File) -> Iterator[bytes]:
    with Unpacked(path) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
