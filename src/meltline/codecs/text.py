"""Cutting text out of bytes, and what becomes of bytes that are no text."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.codecs.records import Places

BOM = b"\xef\xbb\xbf"
SHOWN = 1 << 20
"""How much is kept of an event that is too broken or too long to be kept whole."""


def cut(data: pa.Buffer, starts: Places, ends: Places) -> pa.Array:
    """The texts data[start:end], copied out in one go; the ranges ascend and do not overlap.

    The bytes are not checked to be UTF-8: see `is_utf8` and `repair`.
    """
    count = len(starts)
    if count == 0:
        return pa.array([], pa.large_string())
    offsets = np.empty(2 * count, np.int64)
    offsets[0::2] = starts
    offsets[1::2] = ends
    # an Arrow string ends where the next one begins: every gap is a string too, left out by take
    texts_and_gaps = pa.LargeStringArray.from_buffers(2 * count - 1, pa.py_buffer(offsets), data)
    return texts_and_gaps.take(pa.array(np.arange(0, 2 * count, 2)))


def is_utf8(data: pa.Buffer, end: int) -> bool:
    """Whether data[:end] is UTF-8: some 10 GB/s for ASCII."""
    offsets = pa.py_buffer(np.array([0, end], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, offsets, data).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def utf8_fault(raw: bytes) -> int | None:
    """Where the first byte is that is not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def repair(texts: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Show what is not UTF-8 as base64. Returns valid text, and the reasons by index."""
    reasons: dict[int, str] = {}
    shown: list[str] = []
    for index, raw in enumerate(texts.cast(pa.large_binary()).to_pylist()):
        fault = utf8_fault(raw)
        if fault is not None:
            reasons[index] = invalid_utf8(fault)
            shown.append(base64.b64encode(raw).decode())
    return replace(texts, list(reasons), shown), reasons


def invalid_utf8(fault: int) -> str:
    return f"invalid UTF-8 at byte {fault} (event shown as base64)"


def replace(texts: pa.Array, indexes: list[int], shown: list[str]) -> pa.Array:
    """`texts` with other ones at a few places (ascending indexes)."""
    if not indexes:
        return texts
    mask = np.zeros(len(texts), bool)
    mask[indexes] = True
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(shown, pa.large_string()))


def opening(raw: bytes) -> str:
    """The first MiB of something, cut between two characters; base64 when it is not UTF-8."""
    shown = raw.removeprefix(BOM)[:SHOWN]
    # a character cut in two at the very end is our doing, not a fault of the text
    spare = 4 if len(shown) < len(raw) else 1
    for back in range(spare):
        try:
            return shown[: len(shown) - back].decode()
        except UnicodeDecodeError:
            continue
    return base64.b64encode(shown).decode()


def size_name(size: int) -> str:
    """64 MiB is `64mb`, as it is written in a pipeline file."""
    for unit, name in ((1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size} bytes"
