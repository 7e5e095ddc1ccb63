r"""What data hides: what it is unpacked, without escapes, and in its Base64.

`views` yields text to search, not to show: it is garbage if data only looks encoded.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zipfile
import zlib
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import unescape
from io import BytesIO
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

LARGEST = 50_000_000
"""Bytes to which data is unpacked, as a small file may hold far more."""

_ALPHABET = {
    code: char if char.isalnum() or char in "+/\n" else {"-": "+", "_": "/"}.get(char, " ")
    for code, char in enumerate(map(chr, range(128)))
}
# Leaves the letters of Base64, in either alphabet, and what lies between its lines.
_TO_BASE64 = bytes(ord(_ALPHABET.get(code, " ")) for code in range(256))

# Length of Base64 that is decoded: that of 12 characters.
_LEAST = 16

# Base64 of this length is a file's; a shorter one may begin in the middle of a word, as of a path.
_FILE = 2_000

# An escape of JavaScript, JSON or Python.
_ESCAPE = re.compile(
    r"\\(?:u\{0*([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{2})|([/nrt\"']))"
)

_NOISE = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
_STREAM = re.compile(rb"stream\r?\n(.+?)endstream", re.DOTALL)  # of a PDF

# What reads compressed data, by the bytes that it begins with.
_UNPACKING: dict[bytes, Callable[[BytesIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZ": bz2.BZ2File,
    b"\xfd7": lzma.LZMAFile,
}

# What is raised if data only looks packed, or is packed in an unknown way.
_DAMAGED = (
    *(OSError, EOFError, ValueError, NotImplementedError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)

_ZLIB = (b"x\1", b"x\x5e", b"x\x9c", b"x\xda")


class Unsearchable(Exception):
    """Data unpacks to more bytes than are searched."""


class View(NamedTuple):
    """The text of data, and how it is hidden there; empty for what it shows."""

    encoding: str
    text: str

    @property
    def is_noise(self) -> bool:
        """True if it is not text, so that a short match means nothing."""
        return len(_NOISE.findall(self.text)) * 10 > len(self.text)


def find_charset(content_type: str, body: bytes) -> str:
    """Return the charset of text, by its byte order mark or media type; UTF-8 by default."""
    named = re.search(r"charset=\"?([\w-]+)", content_type)
    charset = named[1] if named else "utf-8"
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        charset = "utf-16"
    try:
        body.decode(charset, "surrogateescape")
    except (LookupError, UnicodeError):
        return "utf-8"
    return charset


def views(data: str | bytes, charset: str = "utf-8") -> Iterator[View]:
    """Yield the text of data, and those that its encodings hide, Base64 one level deep.

    Raises:
        Unsearchable: it unpacks to more than `LARGEST` bytes.
    """
    if isinstance(data, str):
        yield from _views_of_text("", data)
        return
    for encoding, part in [("", data), *(("unpacked", part) for part in _unpacked(data))]:
        yield from _views_of_text(encoding, part.decode(charset, "replace"))
        if b"\0" in part:  # between the letters, as in UTF-16
            yield from _views_of_text(encoding or "between zeros", _without_zeros(part))
        charset = "utf-8"


def _views_of_text(encoding: str, text: str) -> Iterator[View]:
    yield View(encoding, text)
    plain = unescape(text) if "&" in text else text
    plain = _ESCAPE.sub(_unescaped, plain) if "\\" in plain else plain
    plain = unquote(plain) if "%" in plain else plain
    if plain != text:
        yield View(encoding or "in escapes", plain)
    if decoded := list(_from_base64(plain)):
        yield View("in Base64", "\n".join(map(_without_zeros, decoded)))


def _unescaped(found: re.Match[str]) -> str:
    *codes, letter = found.groups()
    if letter:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(letter, letter)
    code = int(next(filter(None, codes)), 16)
    return chr(code) if code <= 0x10FFFF else found[0]


def _without_zeros(data: bytes) -> str:
    return data.replace(b"\0", b"").decode("utf-8", "replace")


def _from_base64(text: str) -> Iterator[bytes]:
    for word in text.encode("ascii", "replace").translate(_TO_BASE64, b"\r").split(b" "):
        if len(word) < _LEAST:
            continue
        whole = word.replace(b"\n", b"")
        parts = [whole]
        if len(whole) < _FILE:
            parts += [whole[1:], whole[2:], whole[3:], *whole.split(b"/")[1:]]
        for part in parts:
            part = part[: len(part) - (len(part) % 4 == 1)]
            data = a2b_base64(part + b"=" * (-len(part) % 4))
            yield data
            yield from _unpacked(data)


def _unpacked(data: bytes) -> Iterator[bytes]:
    if unpack := _UNPACKING.get(data[:2]):
        yield _read_until_damage(unpack(BytesIO(data)))
    elif data[:4] == b"PK\3\4":
        with suppress(*_DAMAGED), zipfile.ZipFile(BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode("utf-8", "replace")
                with suppress(*_DAMAGED, RuntimeError):  # as it is encrypted
                    yield _read_until_damage(archive.open(name))
    for part in _STREAM.findall(data) if data[:4] == b"%PDF" else [data]:
        if part[:2] in _ZLIB:
            with suppress(zlib.error):
                yield _checked(zlib.decompressobj().decompress(part, LARGEST + 1))


def _read_until_damage(file: IO[bytes]) -> bytes:
    data = bytearray()
    with file, suppress(*_DAMAGED):
        while len(data) <= LARGEST and (part := file.read1(2**16)):  # type: ignore[attr-defined]
            data += part
    return _checked(bytes(data))


def _checked(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise Unsearchable(f"unpacks to more than {LARGEST:,} bytes, which are not searched")
    return data
