"""Logins and queries of URLs: they are used to connect, and appear in no message or report."""

from __future__ import annotations

import re
from collections.abc import Mapping

from calcli.core.language.errors import UsageError

URL = re.compile(r"([a-z][a-z0-9+.-]+(?:::[a-z][a-z0-9+.-]+)*)://(?:([^/@\s]*)@)?([^\s?]*)(\?\S*)?", re.I)
WEB = ("http", "https")
_secrets: dict[str, tuple[str, str]] = {}  # login and query of URLs, by what is shown of them


def without_secrets(text: str) -> str:
    """Return a text with URLs in it as they may be shown, without logins and what stands behind `?`.

    These are kept for the connection.

    Raises
    ------
    UsageError
        If two URLs differ only in them.
    """
    return URL.sub(_shown, text) if "://" in text else text


def kept() -> dict[str, tuple[str, str]]:
    """Return what is kept of logins and queries, for another process."""
    return dict(_secrets)


def recall(known: Mapping[str, tuple[str, str]]) -> None:
    """Keep what `secrets` returned in another process."""
    _secrets.update(known)


def _shown(found: re.Match[str]) -> str:
    scheme, login, rest, query = found[1], found[2] or "", found[3], found[4] or ""
    web = scheme.lower().rpartition("::")[2] in WEB
    if login and not web and ":" not in login:
        rest, login = f"{login}@{rest}", ""  # a user, or the container of an account
    if query and not web:
        rest, query = f"{rest}{query}", ""
    shown = f"{scheme}://{rest}"
    if (login or query) and _secrets.setdefault(shown, (login, query)) != (login, query):
        raise UsageError(f"{shown} is given with different logins or queries; expected one of them at a time")
    return shown


def secret_of(shown: str) -> tuple[str, str]:
    """Return the login, that of a folder for what is in it, and the query of a URL."""
    login, query = _secrets.get(shown, ("", ""))
    if not login:
        above = (secret for folder, secret in _secrets.items() if shown.startswith(f"{folder}/"))
        login = next(above, ("", ""))[0]
    return login, query
