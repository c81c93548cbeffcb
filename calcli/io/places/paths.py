"""Local and remote paths: fsspec is loaded for a URL, and logins are not shown."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from calcli.core.language.errors import CalcliError, InputError, UsageError

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

UNREADABLE = re.compile("[\ud800-\udfff]")  # Python's stand-ins for bytes that are not UTF-8
URL = re.compile(r"([a-z][a-z0-9+.-]+(?:::[a-z][a-z0-9+.-]+)*)://(?:([^/@\s]*)@)?([^\s?]*)(\?\S*)?", re.I)
NAMED = re.compile(r"([^/=\s]+)=(.+)")
WEB = ("http", "https")
_secrets: dict[str, tuple[str, str]] = {}  # login and query of URLs, by their shown form
READ_ONLY = (*WEB, "github", "zip", "tar", "reference", "data")
BUFFER_BYTES = 1 << 22  # bytes requested at once if a file is read from end to end
SMALLEST_BYTES = 1 << 16  # smaller files may be fetched whole
TIMEOUT = 10  # seconds until a server without an answer times out
OPTIONS: dict[str, dict[str, Any]] = {  # of what connects
    "s3": {"config_kwargs": {"connect_timeout": TIMEOUT, "retries": {"max_attempts": 1}}},
}


def is_url(path: object) -> bool:
    """Return whether a path is the URL of a remote file."""
    return isinstance(path, Remote) or (isinstance(path, str) and "://" in path and bool(URL.match(path)))


def path_of(path: str | Path | Remote) -> AnyPath:
    """Return a local or remote file or folder from its path.

    Raises
    ------
    UsageError
        If it is empty.
    InputError
        If its name is not UTF-8, the encoding of reports.
    """
    if isinstance(path, Remote):
        return path
    if not is_url(path):
        if not str(path):
            raise UsageError("the name of a file is empty; expected a path, or - for a stream")
        if not str(path).isascii() and UNREADABLE.search(str(path)):
            raise InputError(f"{path}: the name of the file is not text in UTF-8; rename it")
        return Path(path)
    scheme, _, remainder = str(path).partition("://")
    if scheme.lower() in ("file", "local"):
        if "\0" in (text := unquote(remainder)):
            raise UsageError(f"{path}: no file has a NUL in its name")
        return Path(text)
    return Remote(without_secrets(str(path)))


def on_disk(path: AnyPath) -> Path:
    """Return a local file, or a local copy of a remote file, for readers of whole files."""
    return _downloads.copy_of(path) if isinstance(path, Remote) else path


def name_and_path(text: str) -> tuple[str, str]:
    """Split `rf=preds.csv` into the name of a system and its path; a plain path has an empty name."""
    match = NAMED.fullmatch(text)
    return (match[1], match[2]) if match and not (os.path.exists(text) or glob(text)) else ("", text)


def parts_of_pattern(path: str) -> list[str]:
    """Return the matches of a pattern such as `s3://lake/part-*.parquet`, or the path itself.

    Each file of a named pattern, such as `rf=seed*.npz`, gets its name.

    Raises
    ------
    InputError
        If nothing matches the URL.
    """
    if not re.search(r"[*?\[]", path):
        return [path]
    name, pattern = name_and_path(path)
    if name:
        return [f"{name}={part}" for part in parts_of_pattern(pattern)]
    where = path_of(path)
    if isinstance(where, Remote):  # a ? begins the query of a URL
        return [str(path) for path in where.glob()] if re.search(r"[*\[]", path) else [path]
    return [path] if where.exists() else sorted(glob(str(where), recursive=True)) or [path]


@dataclass(frozen=True, order=True)
class Remote:
    """A remote file or folder, with the used part of `pathlib.Path`.

    Attributes
    ----------
    url
        Its URL without secrets.
    known
        Its entry in a listing of its folder.
    """

    url: str
    known: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.url

    @property
    def scheme(self) -> str:
        """Its protocol."""
        return self.url.partition("://")[0].rpartition("::")[2].lower()

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The name without its last ending."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The last ending of the name."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All endings of the name."""
        return self._pure.suffixes

    @property
    def parent(self) -> Remote:
        """The folder that holds it."""
        return Remote(self.url.rstrip("/").rpartition("/")[0])

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.url.partition("://")[2])

    def __truediv__(self, name: str | PurePosixPath) -> Remote:
        return Remote(f"{self.url.rstrip('/')}/{name}")

    def with_name(self, name: str) -> Remote:
        """Return the path with this name in the same folder."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> Remote:
        """Return the same path with another ending."""
        return self.parent / self._pure.with_suffix(suffix).name

    def relative_to(self, parent: object) -> PurePosixPath:
        """Return the path relative to a folder."""
        return PurePosixPath(self.url.removeprefix(str(parent)).lstrip("/"))

    def exists(self) -> bool:
        """Return whether it exists."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether it is a file."""
        return self._info is not None and self._info["type"] == "file"

    def is_dir(self) -> bool:
        """Return whether it is a folder; on the web a URL that ends in `/`."""
        if self.scheme in WEB:
            return self.url.endswith("/")
        return self._info is not None and self._info["type"] == "directory"

    def stat(self) -> Remote:
        """Return an object with its size."""
        return self

    @property
    def st_size(self) -> int:
        """Number of bytes; 1 if the server does not tell."""
        size = (self._info or {}).get("size")
        return 1 if size is None else int(size)

    def iterdir(self) -> Iterator[Remote]:
        """Yield the members of the folder."""
        with self._naming_faults():
            system, path = self._system
            system.invalidate_cache()
            entries = system.ls(path, detail=True)
        this = path.rstrip("/")
        for entry in entries:
            if (name := entry["name"].rstrip("/")) != this:
                folder = "/" if entry["type"] == "directory" and self.scheme in WEB else ""
                yield Remote(f"{self / name.rpartition('/')[2]}{folder}", entry)

    def glob(self) -> list[Remote]:
        """Return the matches of the URL as a pattern.

        Raises
        ------
        InputError
            If nothing matches.
        """
        with self._naming_faults():
            system, path = self._system
            names = sorted(system.glob(path))
        if not names:
            raise InputError(f"{self.url}: no such files")
        chain = self.url.partition("://")[0].rpartition("::")
        return [Remote("".join(chain[:2]) + system.unstrip_protocol(name)) for name in names]

    def open(self, mode: str = "rb", buffering: int = BUFFER_BYTES) -> io.BufferedReader:
        """Open the file; without a buffer only requested bytes are read."""
        assert mode == "rb"
        with self._naming_faults():
            system, path = self._system
            stream = system.open(path, "rb", SMALLEST_BYTES, cache_type="none")
            if self.scheme in WEB and not _downloads.gives_parts(self, stream):
                return on_disk(self).open("rb")
            raw = _Told(stream, self)
        return io.BufferedReader(raw, buffering) if buffering else raw  # type: ignore[return-value]

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        with self.open() as file:
            return file.read()

    def require_writable(self) -> None:
        """Raise an InputError if it is not writable."""
        if self.scheme in READ_ONLY or "::" in self.url:
            way = "a chain of URLs" if "::" in self.url else f"{self.scheme}://"
            raise InputError(f"{self.url} cannot be written, {way} is for reading; choose another place")
        with self._naming_faults():
            assert self._system

    def upload(self, file: Path) -> None:
        """Upload a local file."""
        with self._naming_faults("written"):
            system, path = self._system
            system.put_file(str(file), path)

    def download(self, file: Path) -> None:
        """Download it to a local file."""
        with self._naming_faults():
            system, path = self._system
            system.get_file(path, str(file))

    @cached_property
    def _info(self) -> Mapping[str, Any] | None:
        if self.known is not None and self.scheme not in WEB:  # listings with few details
            return self.known
        with self._naming_faults():
            system, path = self._system
            try:
                return dict(system.info(path))
            except FileNotFoundError as fault:
                if self._is_missing(fault):
                    return None
                raise

    @cached_property
    def _system(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise UsageError(
                f"{self.url}: URLs need the package fsspec, which is not installed; pip install fsspec"
            ) from None
        login, query = secret_of(self.url)
        if login and self.scheme in OPTIONS:
            raise UsageError(
                f"{self.url} is given with a login; expected it where other tools look for it, as in the "
                "environment, a profile or a role"
            )
        scheme, _, remainder = self.url.partition("://")
        return url_to_fs(
            f"{scheme}://{login}{'@' if login else ''}{remainder}{query}", **OPTIONS.get(self.scheme, {})
        )

    @contextmanager
    def _naming_faults(self, action: str = "read") -> Iterator[None]:
        """Report a fault without the words of libraries, which may hold keys."""
        try:
            yield
        except CalcliError:
            raise
        except ImportError as fault:
            raise UsageError(f"{self.url}: {str(fault).rstrip('.')}") from None
        except Exception as fault:
            cause = _innermost(fault)
            status = getattr(cause, "status", None)
            if isinstance(fault, PermissionError) or status in (401, 403):
                raise InputError(
                    f"{self.url} cannot be {action}: access is refused; log in as for other tools, by the "
                    "environment, a profile or a role"
                ) from None
            if self._is_missing(fault):
                raise InputError(f"{self.url}: no such file") from None
            if str(fault).startswith("Protocol not known"):
                raise UsageError(f"{self.url}: {self.scheme}:// is not a known kind of URL") from None
            number = f" {status}" if isinstance(status, int) else ""
            raise InputError(f"{self.url} cannot be {action}: {type(cause).__name__}{number}") from None

    def _is_missing(self, fault: Exception) -> bool:
        """Return whether the file is missing; on the web a silent server looks the same."""
        if not isinstance(fault, FileNotFoundError):
            return False
        cause = _innermost(fault)
        return self.scheme not in WEB or cause is fault or getattr(cause, "status", None) in (404, 410)


AnyPath: TypeAlias = Path | Remote


def _innermost(fault: BaseException) -> BaseException:
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return fault


class _Told(io.RawIOBase):
    """An open file that reports faults like its path."""

    def __init__(self, file: Any, owner: Remote) -> None:
        self._file, self._owner = file, owner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        with self._owner._naming_faults():
            return bytes(self._file.read(size))

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Downloads:
    """Copies of files, removed when the program ends."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._paths: dict[str, Path] = {}
        self._parted: set[str] = set()

    def gives_parts(self, remote: Remote, file: Any) -> bool:
        """Return whether parts of an open file can be requested."""
        if remote.url in self._parted:
            return True
        if remote.url in self._paths or not file.seekable():
            return False
        try:
            file.seek(1)  # the first byte always exists
            file.read(1)
        except ValueError:  # the whole file would be sent
            return False
        file.seek(0)
        self._parted.add(remote.url)
        return True

    def copy_of(self, remote: Remote) -> Path:
        """Return a local copy of a file."""
        if remote.url not in self._paths:
            if self._folder is None:
                from tempfile import TemporaryDirectory  # slow to import

                self._folder = TemporaryDirectory(prefix="calcli-")
            path = Path(self._folder.name) / f"{len(self._paths)}{''.join(remote.suffixes)}"
            remote.download(path)
            self._paths[remote.url] = path
        return self._paths[remote.url]


_downloads = _Downloads()


def without_secrets(text: str) -> str:
    """Return a text with its URLs stripped of logins and queries.

    They are kept for the connection.

    Raises
    ------
    UsageError
        If two URLs differ only in these.
    """
    return URL.sub(_shown, text) if "://" in text else text


def kept() -> dict[str, tuple[str, str]]:
    """Return the stored logins and queries, for another process."""
    return dict(_secrets)


def recall(secrets: Mapping[str, tuple[str, str]]) -> None:
    """Store the result of `secrets` from another process."""
    _secrets.update(secrets)


def _shown(match: re.Match[str]) -> str:
    scheme, login, place, query = match[1], match[2] or "", match[3], match[4] or ""
    web = scheme.lower().rpartition("::")[2] in WEB
    if login and not web and ":" not in login:
        place, login = f"{login}@{place}", ""  # a user, or the container of an account
    if query and not web:
        place, query = f"{place}{query}", ""
    url = f"{scheme}://{place}"
    if (login or query) and _secrets.setdefault(url, (login, query)) != (login, query):
        raise UsageError(f"{url} is given with different logins or queries; expected one of them at a time")
    return url


def secret_of(url: str) -> tuple[str, str]:
    """Return the login of a URL, or of its folder, and the query."""
    login, query = _secrets.get(url, ("", ""))
    if not login:
        above = (secret for folder, secret in _secrets.items() if url.startswith(f"{folder}/"))
        login = next(above, ("", ""))[0]
    return login, query
