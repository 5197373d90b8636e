"""torch's wheels of a version from PyPI, and the facts of both. Wheels and facts are kept in
$XDG_CACHE_HOME/runner/tests/releases."""

import concurrent.futures
import contextlib
import email
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import header_facts
import native_facts
import operator_facts
import python_facts

HERE = pathlib.Path(__file__).parent
# The platform of each of the two wheels of a version, whatever glibc or macOS it is for.
PLATFORMS = {"linux": re.compile(r"manylinux\w*_x86_64"), "macos": re.compile(r"macosx_\w+_arm64")}
NAME = re.compile(r"torch-([\d.]+)-(?:\d+-)?(cp\d+)-(\w+)-([\w.]+)\.whl")
SOURCES = ("wheels", "python_facts", "header_facts", "native_facts", "elf", "operator_facts", "../sweep/macho")


class Unavailable(Exception):
    """A wheel that cannot be had."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "runner/tests/releases"


def _pip(*arguments):
    # Where a system pins torch or has builds of its own, PyPI's is taken all the same.
    environment = {**os.environ, "PIP_CONSTRAINT": os.devnull}
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def listed(version):
    """The tags of all wheels of a version and its Requires-Python, as pip lists them when it is asked
    for a version that is not there."""
    place = cache() / version / "listed.json"
    if not place.exists():
        shown = _pip("-vvv", "--dest", tempfile.gettempdir(), "torch===0").stdout
        found = sorted({each.groups()[1:] for each in NAME.finditer(shown) if each[1] == version})
        if not found:
            raise Unavailable(f"pip lists no wheels of torch {version}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found))
    return [tuple(each) for each in json.loads(place.read_text())]


def wheel(version, system):
    """The wheel of the oldest CPython that has one."""
    folder = cache() / version
    for path in folder.glob("torch-*.whl"):
        if PLATFORMS[system].search(path.name):
            return path
    for interpreter, abi, platforms in sorted(listed(version), key=lambda tags: (len(tags[0]), tags)):
        platform = PLATFORMS[system].search(platforms)
        if platform and abi in (interpreter, "none"):  # and not one for free threading
            print(f"torch {version}: downloading its wheel for {system}", file=sys.stderr)
            done = _pip("--no-cache-dir", "--dest", str(folder), "--platform", platform[0], "--implementation", "cp",
                        "--python-version", f"{interpreter[2]}.{interpreter[3:]}", "--abi", abi, f"torch==={version}")
            if done.returncode == 0:
                return wheel(version, system)
            raise Unavailable(f"torch {version} for {platform[0]}: {done.stderr.strip()[-300:]}")
    raise Unavailable(f"torch {version} has no wheel for {system}")


def _metadata(archive):
    """Facts of the dist-info: its requirements, entry points and date."""
    folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    message = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
    entries, group = {}, ""
    with contextlib.suppress(KeyError):
        for line in archive.read(f"{folder}/entry_points.txt").decode().splitlines():
            if line.startswith("["):
                group = line.strip("[]")
            elif "=" in line:
                name, _, value = line.partition("=")
                entries[f"{group}: {name.strip()}"] = value.strip()
    year, month, day = archive.getinfo(f"{folder}/METADATA").date_time[:3]
    return {
        "requires_python": message["Requires-Python"],
        "requires": sorted(message.get_all("Requires-Dist") or []),
        "python": sorted(
            found[1] for each in message.get_all("Classifier") or [] if (found := re.search(r"Python :: (3\.\d+)$", each))
        ),
        "entry_points": entries,
        "date": f"{year}-{month:02}-{day:02}",
    }


def _extract(version):
    with zipfile.ZipFile(wheel(version, "linux")) as archive:
        names = archive.namelist()
        found = {
            **_metadata(archive),
            "python_files": python_facts.facts(archive.read, names),
            "headers": header_facts.facts(archive.read, names),
            "ops": operator_facts.facts(archive.read),
            "linux": native_facts.linux(archive.read),
        }
        with contextlib.suppress(KeyError):
            text = archive.read("torch/version.py").decode()
            found["cuda"] = next(iter(re.findall(r"cuda.*= '([\d.]+)'", text)), None)
    with zipfile.ZipFile(wheel(version, "macos")) as archive:
        headers = header_facts.facts(archive.read, archive.namelist())
        found["headers"] = header_facts.joined(found["headers"], headers)
        found["macos"] = native_facts.macos(archive.read)
    found["tags"] = sorted({f"{each[1]}" for each in listed(version) if each[2].startswith("manylinux")})
    found["platforms"] = sorted({each[2] for each in listed(version)})
    return found


def extracted(version):
    """The file with all facts of a version, made once for each state of the sources that make them."""
    digest = hashlib.sha256(b"".join((HERE / f"{name}.py").read_bytes() for name in SOURCES))
    place = cache() / version / f"facts-{digest.hexdigest()[:12]}.json.gz"
    if not place.exists():
        print(f"torch {version}: its wheels are read, which takes minutes", file=sys.stderr)
        made = gzip.compress(json.dumps(_extract(version)).encode(), 3)
        for old in place.parent.glob("facts-*.json.gz"):
            old.unlink()
        place.write_bytes(made)
    return place


def facts(versions):
    """All facts of each version; two versions are extracted at once."""
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        places = list(pool.map(extracted, versions))
    return [{**json.loads(gzip.decompress(place.read_bytes())), "version": version} for place, version in zip(places, versions)]
