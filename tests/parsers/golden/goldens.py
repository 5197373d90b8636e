#!/usr/bin/env python3
"""The golden files: one archive a case, in which the outputs of one test program stand with what its framework's objects said.

    goldens.py unpack FOLDER    every file of the archives, and STEM.status
    goldens.py pack FOLDER      archives of the files in FOLDER's folders (regenerate*.sh makes them), in place of those of the
                                same folders here; one that is like another version's is kept once

An archive is text: a line "-- NAME --" before each file, and a newline after it that is not the file's. How the programs ended stands
in manifest.json, for all.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE / "manifest.json"


def case_of(folder, name):
    """The archive of a file: of a module or program where each has logs of its own."""
    return name.partition(".")[0].partition("-")[0] if re.match(r"unittest-|pytest-|odd-|gtest-|junit-unittest-", folder) else "run"


def files_in(archive):
    parts = re.split(rb"(?m)^-- (.+) --\n", archive.read_bytes())
    return {name.decode(): data[:-1] for name, data in zip(parts[1::2], parts[2::2])}


def unpack(into):
    for archive in sorted(HERE.glob("*/*.archive")):
        for name, data in files_in(archive).items():
            file = into / archive.parent.name / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    for stem, status in json.loads(MANIFEST.read_text()).items():
        (into / (stem + ".status")).write_text("%d\n" % status)


def pack(made):
    statuses = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    for folder in sorted(path for path in made.iterdir() if path.is_dir()):
        statuses = {stem: status for stem, status in statuses.items() if not stem.startswith(folder.name + "/")}
        for old in (HERE / folder.name).glob("*.archive"):
            old.unlink()
        archives = {}
        for file in sorted(folder.iterdir()):
            if file.suffix == ".status":
                statuses["%s/%s" % (folder.name, file.stem)] = int(file.read_text())
                continue
            data = file.read_bytes()
            assert not re.search(rb"(?m)^-- .+ --\n", data), file
            archives.setdefault(case_of(folder.name, file.name), []).append(b"-- %s --\n%s\n" % (file.name.encode(), data))
        for case, files in archives.items():
            data = b"".join(files)
            if any(other.read_bytes() == data for other in HERE.glob("*/%s.archive" % case)):
                continue
            (HERE / folder.name).mkdir(exist_ok=True)
            (HERE / folder.name / (case + ".archive")).write_bytes(data)
    MANIFEST.write_text(json.dumps(dict(sorted(statuses.items())), indent=0) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](pathlib.Path(sys.argv[2]))
