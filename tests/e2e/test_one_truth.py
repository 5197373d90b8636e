"""What `import` makes of files that the same tests left in each tool's format, against the states of our own run of them."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "parsers" / "one_truth"))
import compare  # noqa: E402


@pytest.mark.parametrize("name", compare.archives())
def test_each_format_has_the_states_of_our_own_run(program, name):
    wrong, _ = compare.wrong_of(program, name, compare.archives()[name])
    assert not wrong, "\n".join(wrong)


def test_each_limit_is_of_a_stored_file():
    assert compare.limits_of_no_file() == []
