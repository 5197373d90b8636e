"""Writes a video as an MP4 file of JPEG pictures: the few boxes that ISO 14496-12 asks for.

Readers based on ffmpeg take it. No encoder is needed, and none promises the same bytes twice.
"""

import struct

SCALE = 1000  # units of time in a second


def box(kind, *content):
    body = b"".join(content)
    return struct.pack(">I4s", len(body) + 8, kind) + body


def full(kind, *content, flags=0):
    return box(kind, struct.pack(">I", flags), *content)


MATRIX = struct.pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def sample_description(width, height):
    entry = box(b"jpeg", bytes(6), struct.pack(">H", 1), bytes(16), struct.pack(">HHIIIH", width, height, 72 << 16, 72 << 16, 0, 1),
                bytes(32), struct.pack(">Hh", 24, -1))
    return full(b"stsd", struct.pack(">I", 1), entry)


def sample_table(pictures, size, step, offset):
    return box(
        b"stbl", sample_description(*size),
        full(b"stts", struct.pack(">III", 1, len(pictures), step)),
        full(b"stsc", struct.pack(">IIII", 1, 1, len(pictures), 1)),
        full(b"stsz", struct.pack(">II", 0, len(pictures)), *(struct.pack(">I", len(p)) for p in pictures)),
        full(b"stco", struct.pack(">II", 1, offset)),
    )


def movie(pictures, size, step, offset):
    duration, (width, height) = step * len(pictures), size
    header = full(b"mvhd", struct.pack(">IIIIIH", 0, 0, SCALE, duration, 0x10000, 0x100), bytes(10), MATRIX, bytes(24), struct.pack(">I", 2))
    track = full(b"tkhd", struct.pack(">IIIII", 0, 0, 1, 0, duration), bytes(16), MATRIX, struct.pack(">II", width << 16, height << 16), flags=3)
    media = box(
        b"mdia", full(b"mdhd", struct.pack(">IIIIHH", 0, 0, SCALE, duration, 0x55C4, 0)),
        full(b"hdlr", struct.pack(">I4s", 0, b"vide"), bytes(12), b"video\0"),
        box(b"minf", full(b"vmhd", bytes(8), flags=1), box(b"dinf", full(b"dref", struct.pack(">I", 1), full(b"url ", flags=1))),
            sample_table(pictures, size, step, offset)),
    )
    return box(b"moov", header, box(b"trak", track, media))


def mp4(pictures, size, rate=10):
    """`pictures`: JPEG files as bytes; `rate`: pictures a second."""
    kind = box(b"ftyp", b"qt  ", struct.pack(">I", 0x200), b"qt  ")
    offset = len(kind) + 8
    return kind + box(b"mdat", *pictures) + movie(pictures, size, SCALE // rate, offset)
