"""The table of devices of the shim's Python is that of its C++."""
import pathlib
import re
import sys

SHIM = pathlib.Path(__file__).resolve().parents[2] / "shim"
sys.path.insert(0, str(SHIM / "python"))

from compat_shim import device_kinds  # noqa: E402


def rows_of_cpp():
    text = (SHIM / "policy/device_kind.h").read_text()
    members, table = text.split("kDeviceKinds{{")
    otherwise = {name: value or "" for name, value in re.findall(r"^    [\w:]+ (\w+)(?: = (\w+)|\{\});", members, re.M)}
    for row in re.findall(r"^    \{([^}]*)\}", table.split("}};")[0], re.M):
        yield {**otherwise, **{name: value.strip('"') for name, value in re.findall(r"\.(\w+) = ([^,\n}]+)", row)}}


def test_the_tables_agree():
    rows = list(rows_of_cpp())
    assert [row["word"] for row in rows] == [kind.word for kind in device_kinds.KINDS]
    for row, kind in zip(rows, device_kinds.KINDS):
        shared = {name: str(value).lower() for name, value in kind._asdict().items() if name in row}
        assert len(shared) >= 5
        assert {name: row[name] for name in shared} == shared


def test_any_other_device_is_the_last_row():
    assert device_kinds.of("privateuseone") is device_kinds.KINDS[-1]
    assert device_kinds.SIMULATED == ("mps", "cuda")
