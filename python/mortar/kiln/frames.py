"""Messages between Kiln and its translators: a length, then fields, each with its length.

Both lengths are four bytes, most significant first. The text of a field is UTF-8. The reader
refuses a message longer than MAX_MESSAGE and trusts the peer otherwise: it is our own parent.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

# A statement of 16 MB, the longest that the engine passes on, may grow fourfold when translated.
MAX_MESSAGE = 64 << 20

_LENGTH = struct.Struct(">I")


def read_message(stream: BinaryIO) -> list[str] | None:
    """The fields of the next message; None when the peer is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_MESSAGE:
        raise ValueError(f"a message of {size} bytes is longer than {MAX_MESSAGE}")
    body = stream.read(size)
    return None if len(body) < size else _fields(body)


def _fields(body: bytes) -> list[str]:
    fields, at = [], 0
    while at < len(body):
        (size,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        fields.append(body[at : at + size].decode("utf-8", "replace"))
        at += size
    return fields


def write_message(stream: BinaryIO, fields: list[str]) -> None:
    parts = [field.encode("utf-8", "replace") for field in fields]
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()
