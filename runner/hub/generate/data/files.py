"""Single files by the endings of their names: pictures, sounds, videos, arrays, tables and texts.

Each maker gets the whole name, which may say a size or a kind. Not here: who asks (media.py, repositories.py).
"""

import io
import json
import re

from ..common import seed_of
from ..text import pieces
from . import drawing, sounds, video

TYPES = {
    "json": "application/json", "jsonl": "application/x-ndjson", "txt": "text/plain", "md": "text/markdown", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "html": "text/html", "yaml": "text/yaml", "pdf": "application/pdf", "wav": "audio/x-wav",
    "flac": "audio/flac", "mp3": "audio/mpeg", "ogg": "audio/ogg", "mp4": "video/mp4", "mov": "video/quicktime",
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "bmp": "image/bmp",
}
FRAMES = re.compile(r"video|frames|spaghetti|archery|clip", re.I)


class Unmade(Exception):
    """Says in words why a file cannot be made."""


def suffix_of(name):
    last = name.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
    return last.rsplit(".", 1)[1].lower() if "." in last else ""


def make(name):
    """The file's bytes. Raises Unmade."""
    suffix = suffix_of(name)
    maker = MAKERS.get(suffix)
    if maker is None:
        raise Unmade(f"no rule makes a file .{suffix}" if suffix else "no rule makes a file without an ending")
    try:
        return maker(name, suffix)
    except ImportError as error:
        raise Unmade(f"a file .{suffix} needs the package {error.name}") from error


def make_picture(name, suffix):
    number = 4 if suffix == "gif" else 1
    if number > 1:
        frames = list(drawing.frames(name, number))
        out = io.BytesIO()
        frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=100)
        return out.getvalue()
    return drawing.encode(drawing.picture(name), suffix, exif="exif" in name.lower())


def make_sound(name, suffix):
    return sounds.encode(sounds.samples(name), suffix)


def make_video(name, suffix):
    # More pictures than samplers of 8, 16 and 32 take.
    size = (160, 120)
    pictures = [drawing.encode(frame, "jpg") for frame in drawing.frames(name, 48, size)]
    return video.mp4(pictures, size)


def make_array(name, suffix):
    import numpy

    values = array_of(name, numpy)
    out = io.BytesIO()
    if suffix == "npz":
        numpy.savez(out, data=values)
    else:
        numpy.save(out, values, allow_pickle=isinstance(values, list) or values.dtype == object)
    return out.getvalue()


def array_of(name, numpy):
    if FRAMES.search(name):
        return numpy.stack([numpy.asarray(frame) for frame in drawing.frames(name, 32, (128, 96))])
    if drawing.MASKS.search(name):
        return numpy.asarray(drawing.mask(name, (512, 512), 2)) * 255
    if re.search(r"image|img|cat|dog|photo", name, re.I):
        return numpy.asarray(drawing.scene(name, (512, 512))).astype("float32") / 255
    return numpy.random.RandomState(seed_of(name)).standard_normal((2, 16)).astype("float32")


def make_tensor(name, suffix):
    import torch

    generator = torch.Generator().manual_seed(seed_of(name))
    value = torch.rand(1, 16, generator=generator)
    if "bool" in name:
        value = value > 0.5
    if "batch" in name:
        value = time_series(torch, generator)
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def time_series(torch, generator):
    """A batch of monthly series, as the models for time series read: 64 of 61 past and 24 later months."""
    past, later, number = 61, 24, 64

    def values(*shape):
        return torch.rand(*shape, generator=generator)

    return {
        "past_values": values(number, past), "past_time_features": values(number, past, 2), "past_observed_mask": torch.ones(number, past),
        "future_values": values(number, later), "future_time_features": values(number, later, 2),
        "future_observed_mask": torch.ones(number, later),
        "static_categorical_features": torch.randint(0, 366, (number, 1), generator=generator),
        "static_real_features": values(number, 1),
    }


def make_safetensors(name, suffix):
    import numpy
    from safetensors.numpy import save

    return save({"data": numpy.random.RandomState(seed_of(name)).standard_normal((2, 16)).astype("float32")})


def records(name, number=8):
    lines = [line for line in pieces.lines() if line.isascii()]
    first = seed_of(name) % len(lines)
    return [{"id": n, "text": lines[(first + n) % len(lines)], "label": n % 2} for n in range(number)]


def make_json(name, suffix):
    if re.search(r"id2label|class|label", name):
        value = {str(n): f"class {n}" for n in range(1000 if "imagenet" in name else 150)}
    else:
        value = records(name)
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def make_lines(name, suffix):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(name)).encode()


def make_table(name, suffix):
    mark = "\t" if suffix == "tsv" else ","
    rows = [["id", "text", "label"], *([str(r["id"]), '"' + r["text"].replace('"', '""') + '"', str(r["label"])] for r in records(name))]
    return ("\n".join(mark.join(row) for row in rows) + "\n").encode()


def make_text(name, suffix):
    return ("\n".join(pieces.lines()) + "\n").encode()


def make_page(name, suffix):
    body = "".join(f"<p>{record['text']}</p>\n" for record in records(name))
    return f"<!DOCTYPE html>\n<html><head><title>{suffix}</title></head><body>\n<h1>Page</h1>\n{body}</body></html>\n".encode()


def make_pdf(name, suffix):
    lines = [record["text"].replace("\\", "").replace("(", "[").replace(")", "]") for record in records(name)]
    text = "BT /F1 11 Tf 50 750 Td 16 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out.encode("latin-1")


MAKERS = {
    **dict.fromkeys(drawing.FORMATS, make_picture),
    **dict.fromkeys(("wav", *sounds.SOUNDFILE_FORMATS), make_sound),
    **dict.fromkeys(("mp4", "mov", "m4v"), make_video),
    **dict.fromkeys(("npy", "npz"), make_array),
    **dict.fromkeys(("pt", "pth"), make_tensor),
    "safetensors": make_safetensors, "json": make_json, "jsonl": make_lines, "csv": make_table, "tsv": make_table,
    **dict.fromkeys(("txt", "md"), make_text),
    **dict.fromkeys(("html", "htm"), make_page),
    "pdf": make_pdf,
}
