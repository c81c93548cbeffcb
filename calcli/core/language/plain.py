"""Text of files as it may be shown: what a terminal, or a reader of logs, would obey is made visible."""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
COMMAND = re.compile(
    r"::(?=error|warning|notice|debug|group|endgroup|echo|add-|set-|save-|stop-)|##(?=(vso)?\[)"
)  # workflow commands of GitHub, and of Azure


def plain(text: str) -> str:
    """Return text on one line, its control characters as escapes; no part of it is a workflow command."""
    if not text.isprintable():
        text = CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return COMMAND.sub(lambda found: f"{found[0][0]}\\{found[0][1]}", text)


def plain_json(text: str) -> str:
    """Return JSON that says the same, its control characters as escapes but for the ends of lines."""
    return CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
