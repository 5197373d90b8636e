"""Reads and writes what is the user's and the host's."""
import os
import pathlib
import pwd
import tempfile
import unittest

HOST = pathlib.Path(os.environ["MISBEHAVING_HOST"])  # a folder of the host, beside the suite


class Files(unittest.TestCase):
    def test_reads_a_key_of_home(self):
        print("KEY", (pathlib.Path.home() / ".ssh" / "id_test").read_text())

    def test_reads_a_key_of_the_account(self):
        home = os.environ.get("MISBEHAVING_ACCOUNT", pwd.getpwuid(os.getuid()).pw_dir)
        print("KEY", (pathlib.Path(home) / ".ssh" / "id_test").read_text())

    def test_writes_into_home(self):
        (pathlib.Path.home() / "written-by-a-test").write_text("x")

    def test_writes_into_a_cache(self):
        folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cached").write_text("x")

    def test_writes_outside(self):
        (HOST / "written-by-a-test").write_text("x")

    def test_leaves_a_temporary_file(self):
        with tempfile.NamedTemporaryFile(prefix="left-", delete=False) as file:
            file.write(b"x" * 1000)

    @unittest.skipUnless(os.environ.get("MISBEHAVING_NAMES"), "only to fill a list")
    def test_leaves_many_names(self):
        for number in range(1000):
            name = "\n" * 200 + str(number)
            (pathlib.Path(tempfile.gettempdir()) / name).write_text("x")

    def test_sees_a_secret_variable(self):
        print("VARIABLE", os.environ["MISBEHAVING_INHERITED"])
