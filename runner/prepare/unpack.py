"""unpack.py ARCHIVE FOLDER: unpacks a wheel or sdist into FOLDER and prints the archive's sha256.

Drops the top-level folder of an sdist, so that FOLDER is the root of the project.
"""
import hashlib
import os
import shutil
import sys
import tarfile
import zipfile


def unpack(archive, folder):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(folder)
        return
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    entries = os.listdir(folder)
    if len(entries) == 1:
        top = os.path.join(folder, entries[0])
        # First rename the top folder: it may contain an entry of the same name.
        aside = folder.rstrip("/") + ".top"
        shutil.rmtree(aside, ignore_errors=True)  # left by an interrupted run
        os.rename(top, aside)
        for name in os.listdir(aside):
            shutil.move(os.path.join(aside, name), os.path.join(folder, name))
        os.rmdir(aside)


with open(sys.argv[1], "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
unpack(sys.argv[1], sys.argv[2])
print(digest)
