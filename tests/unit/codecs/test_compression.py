from __future__ import annotations

import gzip
import io
import os
import random

import pyarrow as pa
import pytest

from meltline.codecs.compression import compression_of, decompressed
from meltline.codecs.records import Unreadable

TEXT = b"".join(b'{"id": %d, "x": "%s"}\n' % (n, os.urandom(9).hex().encode()) for n in range(9000))


def snappy(block: bytes) -> bytes:
    return bytes(pa.compress(block, "snappy", asbytes=True))


def zstd(block: bytes) -> bytes:
    return bytes(pa.compress(block, "zstd", asbytes=True))


def blocks(text: bytes, size: int = 30_000) -> list[bytes]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def framed(text: bytes) -> bytes:
    def chunk(kind: int, content: bytes) -> bytes:
        return bytes([kind]) + len(content).to_bytes(3, "little") + content

    out = chunk(0xFF, b"sNaPpY") + chunk(0xFE, b"padding")
    for number, block in enumerate(blocks(text)):
        packed = chunk(0, b"crc!" + snappy(block)) if number % 2 else chunk(1, b"crc!" + block)
        out += packed
    return out


def java(text: bytes) -> bytes:
    header = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    packed = (snappy(block) for block in blocks(text))
    return header + b"".join(len(block).to_bytes(4, "big") + block for block in packed)


def hadoop(text: bytes) -> bytes:
    out = b""
    for block in blocks(text, 60_000):
        out += len(block).to_bytes(4, "big")
        for part in map(snappy, blocks(block)):
            out += len(part).to_bytes(4, "big") + part
    return out


def read(raw: bytes, compression: str, size: int = 5000) -> bytes:
    stream = decompressed(io.BytesIO(raw), compression)
    out, buffer = b"", bytearray(size)
    while got := stream.readinto(buffer):
        out += buffer[:got]
    return out


PACKED = {
    "none": ("none", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "gzip, several members": ("gzip", b"".join(gzip.compress(block) for block in blocks(TEXT))),
    "gzip, zeros at the end": ("gzip", gzip.compress(TEXT) + bytes(512)),
    "zstd": ("zstd", zstd(TEXT)),
    "zstd, several frames": ("zstd", b"".join(zstd(block) for block in blocks(TEXT))),
    "snappy framed": ("snappy", framed(TEXT)),
    "snappy of snappy-java": ("snappy", java(TEXT)),
    "snappy of Hadoop": ("snappy", hadoop(TEXT)),
    "snappy raw": ("snappy", snappy(TEXT)),
}


@pytest.mark.parametrize(("compression", "raw"), PACKED.values(), ids=PACKED.keys())
def test_what_was_packed_comes_out(compression: str, raw: bytes) -> None:
    assert read(raw, compression) == TEXT
    assert decompressed(io.BytesIO(raw), compression).read() == TEXT


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd", "snappy"])
def test_an_empty_file_is_empty(compression: str) -> None:
    assert read(b"", compression) == b""


@pytest.mark.parametrize("short", ["x", "", "{}\n"])
def test_short_raw_snappy(short: str) -> None:
    assert read(snappy(short.encode()), "snappy") == short.encode()


@pytest.mark.parametrize("name", [name for name in PACKED if name != "none"])
def test_what_is_cut_off_is_refused_or_ends_between_two_blocks(name: str) -> None:
    compression, raw = PACKED[name]
    raw = raw.rstrip(b"\0") if "zeros" in name else raw
    for size in sorted(random.Random(3).sample(range(1, len(raw)), 30)):
        try:
            part = read(raw[:size], compression, 1 << 20)
        except Unreadable:
            continue
        # formats made of independent blocks cannot tell when whole blocks are missing
        assert "gzip" in name or compression in ("snappy", "zstd")
        assert TEXT.startswith(part)
        assert len(part) % 30_000 == 0 or len(part) < len(TEXT) // 100


@pytest.mark.parametrize("name", ["gzip", "zstd", "snappy raw"])
def test_a_single_block_that_is_cut_off_is_always_refused(name: str) -> None:
    compression, raw = PACKED[name]
    for size in (len(raw) - 1, len(raw) - 9, len(raw) // 2, 100):
        with pytest.raises(Unreadable):
            read(raw[:size], compression)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "snappy"])
def test_what_is_not_compressed_at_all_is_refused(compression: str) -> None:
    for raw in (TEXT, b"\xff" * 100, b"hello, world", b"{"):
        with pytest.raises(Unreadable):
            read(raw, compression)


def test_random_damage_is_refused_or_gives_something() -> None:
    random_ = random.Random(5)
    for compression, raw in PACKED.values():
        for _ in range(10):
            damaged = bytearray(raw[: random_.randrange(1, 5000)])
            damaged[random_.randrange(len(damaged))] ^= 1 << random_.randrange(8)
            try:
                read(bytes(damaged), compression)
            except Unreadable:
                continue


def test_trouble_with_reading_is_not_damage() -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object, /) -> int:
            raise TimeoutError("no answer")

    for compression in ("gzip", "zstd", "snappy"):
        with pytest.raises(TimeoutError):
            read_from = decompressed(Broken(), compression)
            read_from.read()


@pytest.mark.parametrize(
    ("path", "setting", "wanted"),
    [
        ("a.json", "automatic", "none"),
        ("a.json.gz", "automatic", "gzip"),
        ("A.JSON.GZ", "automatic", "gzip"),
        ("a.zst", "automatic", "zstd"),
        ("a.zstd", "automatic", "zstd"),
        ("a.snappy", "automatic", "snappy"),
        ("a.gz", "none", "none"),
        ("a.json", "zstd", "zstd"),
    ],
)
def test_compression_by_suffix(path: str, setting: str, wanted: str) -> None:
    assert compression_of(path, setting) == wanted
