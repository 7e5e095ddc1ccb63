"""Decoded pictures, their digests, and PNGs without metadata."""

from __future__ import annotations

import hashlib
import io
import struct

from PIL import Image

_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Pillow's modes that lose nothing as eight bits per channel."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
"""The chunks of a PNG (https://www.w3.org/TR/png-3) that its pixels need."""


class NotAPicture(ValueError):
    """The data is not a picture, or one that a PNG of eight bits can't hold."""


def decoded(data: bytes) -> Image.Image:
    """Return the picture in a file of any format that Pillow reads, as RGB, or RGBA where it shows.

    Raises:
        NotAPicture: it is damaged, moves, or has more than eight bits per channel.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.mode not in _EIGHT_BITS or getattr(image, "n_frames", 1) > 1:
                raise NotAPicture(f"a picture of mode {image.mode}")
            return _plain(image)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise NotAPicture(str(error)) from None


def _plain(image: Image.Image) -> Image.Image:
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            return image
    return image.convert("RGB")


def is_bare_png(data: bytes) -> bool:
    """Return True for a PNG that holds its pixels and nothing else."""
    if not data.startswith(_SIGNATURE):
        return False
    at, kind = len(_SIGNATURE), b""
    while kind != b"IEND" and at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind not in _PIXELS:
            return False
        at += length + 12
    return kind == b"IEND" and at == len(data)


def png_of(image: Image.Image) -> bytes:
    """Return a picture as a PNG without metadata."""
    file = io.BytesIO()
    Image.frombytes(image.mode, image.size, image.tobytes()).save(file, "PNG")
    return file.getvalue()


def digest_of(image: Image.Image) -> str:
    """Return the digest of a picture's pixels, equal however they are compressed."""
    width, height = image.size
    pixels = hashlib.sha256(f"{image.mode} {width} {height}\n".encode())
    pixels.update(image.tobytes())
    return pixels.hexdigest()[:16]
