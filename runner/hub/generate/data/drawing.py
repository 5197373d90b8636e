"""Pictures drawn by code: shapes on a gradient, pages of text, masks. The name alone decides what is drawn.

Not here: which address or file has a picture (media.py, files.py).
"""

import io
import random
import re

from ..common import seed_of
from ..text import pieces

COCO = (640, 480)  # the size of most of COCO's pictures, which tests of vision read
PAGE = (600, 800)
PAGES = re.compile(r"doc|page|paper|invoice|receipt|ocr|pdf|letter|form|table|iam|latex|arxiv|column|chart", re.I)
MASKS = re.compile(r"mask|annotation|segmentation_map|label|_seg\b", re.I)
GRAY = re.compile(r"gray|grey|depth|_l\b|_bw", re.I)
TRANSPARENT = re.compile(r"rgba|alpha|transparent", re.I)
FORMATS = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "gif": "GIF", "bmp": "BMP", "webp": "WEBP", "tif": "TIFF", "tiff": "TIFF"}


def size_of(name):
    """A size that the name states, as 200x300 or /200/300; else that of a page or of COCO."""
    if found := re.search(r"(?<!\d)(\d{2,4})x(\d{2,4})(?!\d)", name) or re.search(r"/(\d{2,4})/(\d{2,4})/?$", name):
        width, height = int(found[1]), int(found[2])
        if width * height <= 4_000_000:
            return width, height
    return PAGE if PAGES.search(name) else COCO


def mode_of(name):
    if TRANSPARENT.search(name):
        return "RGBA"
    return "L" if GRAY.search(name) or MASKS.search(name) else "RGB"


def picture(name, size=None, mode=None, classes=8):
    """A Pillow image. The pixels of a mask are numbers of classes."""
    size, mode = size or size_of(name), mode or mode_of(name)
    if MASKS.search(name):
        return mask(name, size, classes)
    drawn = page(name, size) if PAGES.search(name) else scene(name, size)
    if mode == "RGBA":
        drawn.putalpha(200)
        return drawn
    return drawn.convert(mode)


def scene(name, size):
    from PIL import Image, ImageDraw

    chosen = random.Random(seed_of(name))
    gradient = Image.linear_gradient("L").resize(size)
    drawn = Image.merge("RGB", [gradient.point([(base + n // 3) % 256 for n in range(256)]) for base in chosen.sample(range(40, 170), 3)])
    draw = ImageDraw.Draw(drawn)
    for _ in range(7):
        x, y = chosen.randrange(size[0]), chosen.randrange(size[1])
        w, h = (chosen.randrange(max(2, side // 10), max(3, side // 2)) for side in size)
        colour = tuple(chosen.randrange(256) for _ in range(3))
        chosen.choice((draw.ellipse, draw.rectangle))((x - w // 2, y - h // 2, x + w // 2, y + h // 2), fill=colour)
    return drawn


def page(name, size):
    from PIL import Image, ImageDraw

    drawn = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(drawn)
    lines = [line for line in pieces.lines() if line.isascii()]
    first = seed_of(name) % len(lines)
    for n in range(max(1, size[1] // 30)):
        draw.text((size[0] // 20, 10 + 30 * n), lines[(first + n) % len(lines)][: size[0] // 7], fill="black")
    return drawn


def mask(name, size, classes):
    from PIL import Image, ImageDraw

    chosen = random.Random(seed_of(name))
    drawn = Image.new("L", size, 0)
    draw = ImageDraw.Draw(drawn)
    for number in range(1, classes):
        x, y = chosen.randrange(size[0] * 3 // 4), chosen.randrange(size[1] * 3 // 4)
        draw.rectangle((x, y, x + size[0] // 4, y + size[1] // 4), fill=number)
    return drawn


def encode(image, suffix, exif=False):
    """Bytes in the format of the suffix. Nothing in them is a time."""
    kind = FORMATS[suffix]
    if kind in ("JPEG", "BMP") and image.mode in ("RGBA", "LA", "P"):
        image = image.convert("RGB")
    out, options = io.BytesIO(), {}
    if exif:
        tags = image.getexif()
        tags[0x0112] = 6  # orientation: turned by a quarter
        options["exif"] = tags
    if kind == "WEBP":
        options["lossless"] = True
    image.save(out, kind, **options)
    return out.getvalue()


def frames(name, number, size=(160, 120)):
    """Pictures of a video: a ball that crosses a scene."""
    from PIL import ImageDraw

    ground = scene(name, size)
    for n in range(number):
        frame = ground.copy()
        x, y = size[0] * n // max(1, number - 1), size[1] // 2
        ImageDraw.Draw(frame).ellipse((x - 15, y - 15, x + 15, y + 15), fill=(240, 60, 40))
        yield frame
