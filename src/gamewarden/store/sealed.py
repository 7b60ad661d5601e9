"""JSON files that show when they were changed: a format, its version, a SHA-256 of the content, and the content.

Opening one parses JSON and runs nothing. The digest finds damage and careless edits; it is no signature: who can write
the file can seal it again.
"""

import hashlib
import json
import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gamewarden.contracts import canonical_json
from gamewarden.errors import GamewardenError

LARGEST = 64 << 20  # bytes: over a million reference humans, or hundreds of forests; more is none of ours
DEEPEST = 32  # brackets within brackets: a model has about six
MOST_PARTS = 1 << 20  # lists and objects: a forest has some thousand
_PICKLE = "a Python pickle, which could run code"
# What people mistake for, or disguise as, one of our files.
_DISGUISES = {
    b"\x80": _PICKLE,
    b"PK": "a zip archive",
    b"\x1f\x8b": "gzip-compressed",
    b"x\x9c": "zlib-compressed, as joblib writes pickles, which could run code",
    b"BZh": "bzip2-compressed",
    b"\xfd7zXZ": "xz-compressed",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file",
}
_OLD_PICKLES = b"(cIFLSVN])}KMJGUXTi"  # what pickles of the protocols 0 and 1, which are nearly text, begin with
_SHORTEST_OLD_PICKLE = 8  # bytes; less can run nothing
_LONGEST_OLD_PICKLE = 1 << 20  # bytes; a longer one is no model either, and called not JSON
_CUT_OFF = re.compile(r"[-+.a-zA-Z]{0,4}\s*")  # nothing, or the beginning of a number or of a word, and no more
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Seal:
    """One kind of sealed file: its name and version, and how it speaks of itself."""

    format: str
    version: int
    body: str  # the key under which the content stands, and the word for it
    again: str  # how to come by a good one
    error: type[GamewardenError]

    def text(self, values: Mapping[str, Any], indent: int | None = 1) -> str:
        """The content, sealed; without an indent all on one line.

        Raises:
            GamewardenError: of this seal's kind; nobody could open it again, so large is it.
        """
        envelope = {"format": self.format, "version": self.version, "sha256": sha256(values), self.body: values}
        separators = (",", ":") if indent is None else None
        text = json.dumps(envelope, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False) + "\n"
        if (size := len(text.encode())) > LARGEST:
            raise self.error(
                f"{self.body}: {size:,} bytes are more than any {self.body} may have (at most {LARGEST:,})"
            )
        return text

    def open(self, path: Path) -> dict[str, Any]:
        """The content of a file, unharmed.

        Raises:
            GamewardenError: of this seal's kind; the file is missing, too large, not JSON, of another format or
                version, or changed.
        """
        envelope = self._parse(path, self._read(path))
        self._refuse_foreign(path, envelope)
        values: dict[str, Any] = envelope[self.body]
        if self._digest(path, values) != envelope["sha256"]:
            raise self.error(f"{path}: its content does not fit its sha256, so it was changed or damaged; {self.again}")
        return values

    def _digest(self, path: Path, values: Mapping[str, Any]) -> str:
        try:
            return sha256(values)
        except (RecursionError, UnicodeEncodeError) as error:  # half of a letter, as \\ud800 writes it
            raise self.error(f"{path}: it holds what no {self.body} does ({error}); {self.again}") from error

    def _read(self, path: Path) -> str:
        try:
            size = path.stat().st_size
            if size > LARGEST:
                raise self.error(f"{path}: {size:,} bytes are too many for a {self.body} (at most {LARGEST:,})")
            content = path.read_bytes()
        except OSError as error:
            raise self.error(f"{path}: cannot be read ({error.strerror or error})") from error
        self._refuse_disguises(path, content)
        self._refuse_thickets(path, content)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                f"{path}: byte {error.start} is not UTF-8 text, so this is no {self.body} or a damaged one"
            ) from error

    def _refuse_disguises(self, path: Path, content: bytes) -> None:
        kinds = [kind for start, kind in _DISGUISES.items() if content.startswith(start)]
        if kinds or _is_old_pickle(content):
            kind = kinds[0] if kinds else _PICKLE
            raise self.error(f"{path}: this is {kind}, not a {self.body}; a {self.body} is JSON")

    def _refuse_thickets(self, path: Path, content: bytes) -> None:
        depth, parts = _brackets(content)
        if depth > DEEPEST:
            raise self._too_deep(path)
        if parts > MOST_PARTS:
            raise self.error(
                f"{path}: {parts:,} lists and objects are too many for a {self.body} (at most {MOST_PARTS:,})"
            )

    def _too_deep(self, path: Path) -> GamewardenError:
        return self.error(f"{path}: brackets are nested deeper than {DEEPEST}; a {self.body} is flatter")

    def _parse(self, path: Path, text: str) -> Any:  # noqa: ANN401 - whatever stands in the file
        def refuse(constant: str) -> NoReturn:
            raise self.error(f"{path}: it holds {constant}, and a {self.body}'s numbers are finite")

        def finite(digits: str) -> float:
            return number if math.isfinite(number := float(digits)) else refuse(digits)

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            if len(found := dict(pairs)) < len(pairs):
                raise self.error(f"{path}: an object names a key twice, so it is unclear which one holds")
            return found

        try:
            return json.loads(text, parse_constant=refuse, parse_float=finite, object_pairs_hook=once)
        except json.JSONDecodeError as error:
            raise self._not_json(path, text, error) from error
        except RecursionError as error:  # brackets in quotes can hide how deep the others are
            raise self._too_deep(path) from error
        except ValueError as error:  # a whole number of thousands of digits
            raise self.error(f"{path}: a number in it is too long to be one of a {self.body}") from error

    def _not_json(self, path: Path, text: str, error: json.JSONDecodeError) -> GamewardenError:
        if _CUT_OFF.fullmatch(text, error.pos) or error.msg.startswith("Unterminated"):
            return self.error(f"{path}: it ends early, at byte {len(text.encode()):,}; copy it again or {self.again}")
        return self.error(f"{path}:{error.lineno}: this is not JSON ({error.msg}), so no {self.body} or a damaged one")

    def _refuse_foreign(self, path: Path, envelope: object) -> None:
        if not isinstance(envelope, dict) or envelope.get("format") != self.format:
            raise self.error(f"{path}: this JSON is not a {self.body} of gamewarden (it lacks format {self.format!r})")
        version = envelope.get("version")
        if version != self.version or isinstance(version, bool):
            newer = isinstance(version, int) and version > self.version
            hint = "install a newer gamewarden" if newer else self.again
            raise self.error(
                f"{path}: its format version is {version!r} and this gamewarden reads {self.version}; {hint}"
            )
        if envelope.keys() != {"format", "version", "sha256", self.body} or not isinstance(envelope[self.body], dict):
            raise self.error(
                f"{path}: a {self.body} file holds format, version, sha256 and {self.body}, this one "
                f"{', '.join(envelope)}"
            )
        if not isinstance(envelope["sha256"], str) or not _SHA256.fullmatch(envelope["sha256"]):
            raise self.error(f"{path}: its sha256 is not one, so nothing shows that it is whole; {self.again}")


def sha256(values: Mapping[str, Any]) -> str:
    """A digest of JSON values, however they are laid out."""
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()


def _is_old_pickle(content: bytes) -> bool:
    """Whether this reads as a pickle to its end; reading one that way names its steps and takes none."""
    if not _SHORTEST_OLD_PICKLE <= len(content) <= _LONGEST_OLD_PICKLE or content[0] not in _OLD_PICKLES:
        return False
    from pickletools import genops

    try:
        (_, _, last), *_ = deque(genops(content), maxlen=1)
    except ValueError:
        return False
    return bool(last == len(content.rstrip()) - 1)


def _brackets(content: bytes) -> tuple[int, int]:
    """How deep brackets are nested and how many open, those in quotes among them: a sieve before anything is parsed."""
    letters = np.frombuffer(content, np.uint8)
    at = letters[(letters | ord("&")) == ord("\x7f")]  # the four brackets, and Y _ y and a control of the same bits
    steps = np.isin(at, (ord("["), ord("{"))).astype(np.int8) - np.isin(at, (ord("]"), ord("}"))).astype(np.int8)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0)), int(np.count_nonzero(steps > 0))
