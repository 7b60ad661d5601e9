"""Files in an object store (s3://, gs://, az://), opened by Arrow's own file systems and read as local ones are."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Self, cast

from gamewarden.errors import ConfigError, InstallError, ReadError, short
from gamewarden.readers.sameness import moved

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs as pafs
    from _typeshed import WriteableBuffer

_CONNECT_SECONDS = 5
_ATTEMPTS = 2
_GIVE_UP = timedelta(seconds=20)
_FIRST_READ, _LARGEST_READ = 1 << 16, 1 << 23  # bytes: to see what a file is, and then per request
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # Arrow does not read them by itself
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_AZURE_ACCOUNTS = ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")


@dataclass(frozen=True)
class Seen:
    """What a listing says of a file."""

    size: int
    mtime: int  # microseconds
    identity: str = ""  # of a file of this machine: which one it is, whatever its name


class RemoteFile:
    """One object, with those of a path's methods that readers use.

    It is the object that was seen first: one that was replaced since, or is while it is read, is refused.
    """

    def __init__(self, uri: str, seen: Seen | None = None) -> None:
        """Take its address; nothing is asked of the server.

        Raises:
            ReadError: it is no address of an object.
        """
        self.uri = uri
        self.scheme, self.key = split(uri)
        self._seen = seen
        self._tag: str | None = None  # of the object that was opened first, where the store has tags

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"RemoteFile({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and other.uri == self.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    @property
    def name(self) -> str:
        """Its last part."""
        return PurePosixPath(self.key).name

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        return PurePosixPath(self.key).suffix

    def is_file(self) -> bool:
        """Whether there is such an object.

        Raises:
            ReadError: the store does not say.
        """
        if self._seen is None:
            self._seen = self._look()
        return self._seen is not None

    def is_dir(self) -> bool:
        """Never: what lists a store makes files of it."""
        return False

    exists = is_file

    @property
    def seen(self) -> Seen:
        """Its size and time, when it was seen first.

        Raises:
            ReadError: there is no such object, or the store does not say.
        """
        if not self.is_file() or self._seen is None:
            raise self.missing()
        return self._seen

    def resolve(self) -> Self:
        """Its address has no other form."""
        return self

    def open(self) -> io.BufferedReader:
        """Its bytes from start to end, a few requests at a time.

        Raises:
            ReadError: there is no such object, the store cannot be read, or the object is another one by now.
        """
        return io.BufferedReader(_Stream(self), _LARGEST_READ)

    def native(self) -> "pa.NativeFile":
        """The same for jumping about in it; `confirm` says afterwards whether it stayed the same.

        Raises:
            ReadError: as `open` does.
        """
        listed, was = self._seen is not None, self.seen
        with self.explained():
            file = file_system(self.scheme, self.key).open_input_file(self.key)
            tag, size = _tag_of(file), file.size()
        if size != was.size or (self._tag is not None and tag != self._tag):
            raise moved(self)
        if self._tag is None and listed:
            self._refuse_changed()  # by its time: a listing has no tags
        self._tag = tag
        return file

    @property
    def tagged(self) -> bool:
        """Whether its store tells two contents apart, so that `confirm` sees every change."""
        return self._tag is not None

    def confirm(self) -> None:
        """Look whether it is still the object that was opened.

        Raises:
            ReadError: it is another one, or gone.
        """
        if self._tag is None:
            self._refuse_changed()
        else:
            self.native().close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the store in one line; the object that was replaced meanwhile comes first.

        Raises:
            ReadError: there was one.
        """
        try:
            yield
        except FileNotFoundError as error:
            raise (moved(self) if self._tag is not None else self.missing()) from error
        except _faults() as error:
            raise (self.blamed(error) or explained(self.uri, error)) from error

    def blamed(self, error: BaseException | None) -> ReadError | None:
        """What the store has to do with an error: the object was replaced, or the server failed; None: nothing."""
        if self._tag is not None and self._changed():
            return moved(self)
        return explained(self.uri, error) if error is not None and meaning(error) else None

    def _look(self) -> Seen | None:
        with explaining(self.uri):
            info = file_system(self.scheme, self.key).get_file_info(self.key)
        return seen_in(info)

    def _changed(self) -> bool:
        try:
            if self._look() != self._seen:
                return True
            with file_system(self.scheme, self.key).open_input_file(self.key) as file:
                return _tag_of(file) != self._tag
        except ReadError:
            return False  # whatever hinders us now has hindered us before
        except _faults():
            return False

    def _refuse_changed(self) -> None:
        if self._look() != self.seen:
            raise moved(self)

    def missing(self) -> ReadError:
        """The one line for an object that is not there.

        Raises:
            ReadError: the bucket is not there either.
        """
        require_bucket(self.uri)
        return ReadError(f"{self.uri}: there is no such file in the bucket; check its name")


class _Stream(io.RawIOBase):
    """The bytes of an object; at their end it must still be the same one."""

    def __init__(self, file: RemoteFile) -> None:
        super().__init__()
        self._remote = file
        self._file = file.native()
        self._most = _FIRST_READ

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_LARGEST_READ), b""))

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer)[: self._most]
        self._most = min(2 * self._most, _LARGEST_READ)
        with self._remote.explained():
            filled = int(self._file.readinto(room))
        if not filled:
            self._remote.confirm()
        return filled

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def split(uri: str) -> tuple[str, str]:
    """The scheme of an address, and the bucket and path behind it, taken as they are written.

    Raises:
        ReadError: it names no bucket, or a path that a server would not take as it is written.
    """
    scheme, _, key = uri.partition("://")
    parts = key.removesuffix("/").split("/")
    if not parts[0]:
        raise ReadError(f"{short(uri)}: names no bucket; write {scheme}://bucket/path")
    if odd := [part for part in parts if part in {"", ".", ".."}]:
        raise ReadError(f"{short(uri)}: has a part {odd[0]!r}, which servers take for another place; write it plainly")
    return scheme, key.removesuffix("/")


def require_bucket(uri: str) -> None:
    """Stop where the bucket of an address is not there.

    Raises:
        ReadError: it is not, or the store does not say.
    """
    scheme, key = split(uri)
    bucket = key.partition("/")[0]
    with explaining(uri):
        there = file_system(scheme, key).get_file_info(bucket)
    if there.type.name == "NotFound":
        raise ReadError(f"{uri}: there is no bucket {bucket!r}, or you may not see it; check its name")


def is_remote(locator: str) -> bool:
    """Whether a text is the address of something in an object store."""
    scheme, found, _ = locator.partition("://")
    return bool(found) and scheme in _MAKERS


def seen_in(info: "pafs.FileInfo") -> Seen | None:
    """Size and time of a file; nothing where it is none."""
    if info.type.name != "File":
        return None
    return Seen(int(info.size or 0), int(info.mtime_ns or 0) // 1_000)


def file_system(scheme: str, key: str) -> "pafs.FileSystem":
    """Arrow's file system for a place, with credentials and settings of the environment.

    Raises:
        InstallError: this Arrow was built without it.
        ConfigError: the environment lacks what it needs.
        ReadError: the server does not say where the bucket is.
    """
    try:
        return _MAKERS[scheme](key.partition("/")[0])
    except ImportError as error:
        raise InstallError(
            f"{scheme}:// needs a pyarrow that was built with it; install pyarrow from PyPI or conda-forge"
        ) from error


def _s3(bucket: str) -> "pafs.FileSystem":
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    region = next((os.environ[name] for name in _REGIONS if os.environ.get(name)), "")
    return _s3_at(endpoint, region, "" if endpoint or region else bucket)


@cache
def _s3_at(endpoint: str, region: str, bucket: str) -> "pafs.FileSystem":
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    scheme, _, host = endpoint.rpartition("://")
    if bucket:
        with explaining(f"s3://{bucket}"):
            region = resolve_s3_region(bucket)
    return S3FileSystem(
        region=region or "us-east-1",
        endpoint_override=host.rstrip("/") or None,
        scheme=scheme or None,
        connect_timeout=_CONNECT_SECONDS,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


@cache
def _gcs(_bucket: str) -> "pafs.FileSystem":
    from pyarrow.fs import GcsFileSystem

    return GcsFileSystem(retry_time_limit=_GIVE_UP)


def _azure(_bucket: str) -> "pafs.FileSystem":
    account = next((os.environ[name] for name in _AZURE_ACCOUNTS if os.environ.get(name)), "")
    if not account:
        raise ConfigError(f"az:// needs the name of the storage account; set {_AZURE_ACCOUNTS[0]} in the environment")
    return _azure_of(account, os.environ.get("AZURE_STORAGE_KEY") or None)


@cache
def _azure_of(account: str, key: str | None) -> "pafs.FileSystem":
    from pyarrow.fs import AzureFileSystem

    return AzureFileSystem(account, account_key=key)


_MAKERS: dict[str, Callable[[str], Any]] = {"s3": _s3, "gs": _gcs, "az": _azure}

_NO_BUCKET = "there is no such bucket; check its name"
_DENIED = "access is denied; give credentials that may read it"
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in the environment",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS in the environment",
    "az": "AZURE_STORAGE_KEY in the environment, or a login",
}
_NO_SERVER = "the server cannot be reached; check the network, and AWS_ENDPOINT_URL where the store is not Amazon's"
# What words of a store mean: the first that occurs in an error counts.
_MEANINGS = {
    "NO_SUCH_BUCKET": _NO_BUCKET,
    "bucket does not exist": _NO_BUCKET,
    "ContainerNotFound": _NO_BUCKET,
    "ACCESS_DENIED": _DENIED,
    "INVALID_ACCESS_KEY": _DENIED,
    "SIGNATURE_DOES_NOT_MATCH": _DENIED,
    "UNAUTHENTICATED": _DENIED,
    "OAuth2 access token": _DENIED,
    "credentials file": _DENIED,
    "HTTP status 403": _DENIED,
    "FORBIDDEN": _DENIED,
    "NETWORK_CONNECTION": _NO_SERVER,
    "REQUEST_TIMEOUT": _NO_SERVER,
    "UNAVAILABLE": _NO_SERVER,
    "curlCode": _NO_SERVER,
    "Fail to get a new connection": _NO_SERVER,
}


def meaning(error: BaseException) -> str | None:
    """What an error of a store means, where we know."""
    text = str(error).lower()
    return next((says for word, says in _MEANINGS.items() if word.lower() in text), None)


def explained(uri: str, error: BaseException) -> ReadError:
    """An error of a store in one line."""
    known = meaning(error)
    if known == _DENIED:
        return ReadError(f"{uri}: {known}: {_CREDENTIALS[uri.partition('://')[0]]}")
    reason = " ".join(str(error).split())[-200:]
    return ReadError(f"{uri}: {known or f'cannot be read ({reason})'}")


@contextmanager
def explaining(uri: str) -> Iterator[None]:
    """Errors of a store in one line.

    Raises:
        ReadError: there was one.
    """
    try:
        yield
    except _faults() as error:
        raise explained(uri, error) from error


def _faults() -> tuple[type[Exception], ...]:
    """What Arrow's file systems raise."""
    import pyarrow as pa

    return OSError, ValueError, pa.ArrowException


def _tag_of(file: "pa.NativeFile") -> str | None:
    """What a store calls this very content of an object."""
    told = cast("dict[Any, Any]", file.metadata() or {})
    found = (value for name, value in told.items() if _text(name).lower() == "etag")
    return next((_text(value) for value in found), None)


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
