"""Text from files as a terminal, a table or a message may show it."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, line separators, and what reorders or hides text.
_HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def visible(text: str | bytes) -> str:
    r"""The text with everything a terminal would obey written out.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return _HOSTILE.sub(lambda match: _escape(match.group()), text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
