"""Sounds made by code: notes with an envelope, 16 bits, one channel. The name alone decides which.

Not here: which address or file has a sound (media.py, files.py).
"""

import array
import functools
import io
import math
import random
import sys
import wave

from ..common import seed_of

RATE = 16000  # that of most speech models
SECONDS = 3.0
SOUNDFILE_FORMATS = {"flac": "FLAC", "ogg": "OGG", "mp3": "MP3", "opus": "OGG", "aiff": "AIFF"}


@functools.lru_cache(maxsize=64)
def note(pitch, rate):
    """A quarter of a second, as numbers from -1 to 1."""
    number, step = int(rate * 0.25), 2 * math.pi * pitch / rate
    return [math.sin(math.pi * n / number) * (0.7 * math.sin(step * n) + 0.3 * math.sin(2 * step * n)) for n in range(number)]


def samples(name, seconds=SECONDS, rate=RATE):
    """An array of 16-bit numbers."""
    chosen = random.Random(seed_of(name))
    total = int(seconds * rate)
    found = array.array("h")
    while len(found) < total:
        loud = 32767 * chosen.uniform(0.2, 0.6)
        found.extend([int(loud * value) for value in note(chosen.choice((131, 165, 196, 220, 262, 330)), rate)])
    return found[:total]


def wav(values, rate=RATE):
    out = io.BytesIO()
    data = array.array("h", values)
    if sys.byteorder == "big":
        data.byteswap()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(data.tobytes())
    return out.getvalue()


def encode(values, suffix, rate=RATE):
    """Bytes in the format of the suffix. Raises ImportError where no package writes it."""
    if suffix == "wav":
        return wav(values, rate)
    import numpy
    import soundfile

    out = io.BytesIO()
    kind = SOUNDFILE_FORMATS[suffix]
    options = {"subtype": "OPUS"} if suffix == "opus" else {}
    soundfile.write(out, numpy.array(values, dtype="int16"), rate, format=kind, **options)
    return settled(out.getvalue(), suffix)


def settled(content, suffix):
    """Ogg streams have a random serial number, which soundfile takes from the clock."""
    if suffix not in ("ogg", "opus"):
        return content
    return renumbered(content)


def renumbered(content):
    """Sets the serial number of each page to 1, and its checksum."""
    found, at = bytearray(), 0
    while at < len(content):
        segments = content[at + 26]
        size = 27 + segments + sum(content[at + 27:at + 27 + segments])
        page = bytearray(content[at:at + size])
        page[14:18], page[22:26] = (1).to_bytes(4, "little"), bytes(4)
        page[22:26] = checksum(page).to_bytes(4, "little")
        found += page
        at += size
    return bytes(found)


def checksum(page):
    value = 0
    for byte in page:
        value = (value << 8 & 0xFFFFFFFF) ^ TABLE[value >> 24 ^ byte]
    return value


def _entry(number):
    value = number << 24
    for _ in range(8):
        value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value


TABLE = [_entry(number) for number in range(256)]
