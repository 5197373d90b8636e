"""Pictures, sounds and videos drawn by code, for addresses written into tests and files of spaces.

Not here: datasets (repositories.py).
"""

import re
import urllib.parse

from .common import found, missing
from .data import files

# Addresses whose path says nothing of a picture: hosts, or words of the query.
PICTURES = re.compile(r"^(picsum\.photos|images\.unsplash\.com|source\.unsplash\.com|placehold\.co|placekitten\.com)$")


def make_url(url, folder, source):
    """The answer for one address; it has one file. `source`: the suite's source (source.py)."""
    parts = urllib.parse.urlsplit(url)
    name = f"{parts.netloc}{urllib.parse.unquote(parts.path)}"
    suffix = files.suffix_of(parts.path)
    if suffix not in files.MAKERS and is_picture(parts, suffix):
        name, suffix = name + ".jpg" if not stated_size(name) else name, "jpg"
        return answer(folder, name, suffix, files.make_picture)
    if suffix not in files.MAKERS:
        return missing(f"no rule makes {parts.netloc}{parts.path}: its name ends as no kind of file that is known")
    return answer(folder, name, suffix, None)


def make_space(name, file, folder):
    """The answer for a space. It is there for the whole run, with the files that are asked for and drawn;
    nobody runs its program."""
    (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")
    if file and file != "README.md" and files.suffix_of(file) in files.MAKERS:
        made = answer(folder, f"{name}/{file}", files.suffix_of(file), None, folder / file)
        if "missing" not in made:
            return made
    return found(folder, "a space", "its files are drawn when they are asked for")


def is_picture(parts, suffix):
    query = urllib.parse.parse_qs(parts.query)
    if PICTURES.match(parts.hostname or "") or "jpg" in query.get("fm", ()):
        return True
    return not suffix and re.search(r"/image|photo", parts.path) is not None


def stated_size(name):
    return re.search(r"/\d{2,4}/\d{2,4}/?$", name) is not None


def answer(folder, name, suffix, maker, path=None):
    try:
        content = maker(name, suffix) if maker else files.make(name)
    except files.Unmade as error:
        return missing(f"{name}: {error}")
    except ImportError as error:
        return missing(f"{name}: needs the package {error.name}")
    path = path or folder / f"content.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return found(folder, kind_of(suffix), f"drawn by code: the name ends with .{suffix}", type=files.TYPES.get(suffix, "application/octet-stream"))


def kind_of(suffix):
    kind = files.TYPES.get(suffix, "").split("/")[0]
    return {"image": "a picture", "audio": "a sound", "video": "a video", "text": "a text"}.get(kind, f"a file .{suffix}")
