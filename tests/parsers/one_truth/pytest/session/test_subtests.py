import pytest


def test_all_pass(subtests):
    for i in range(2):
        with subtests.test(i=i):
            pass


def test_one_fails(subtests):
    for i in range(3):
        with subtests.test("a message", i=i):
            assert i != 1


def test_one_skips(subtests):
    for i in range(2):
        with subtests.test(i=i):
            if i:
                pytest.skip("in a sub-test")


def test_one_xfails(subtests):
    for i in range(2):
        with subtests.test(i=i):
            if i:
                pytest.xfail("known")


def test_fails_beside_them(subtests):
    with subtests.test(i=0):
        assert False, "in the sub-test"
    assert False, "in the test"


def test_skips_beside_them(subtests):
    with subtests.test(i=0):
        assert False, "in the sub-test"
    pytest.skip("in the test")


@pytest.mark.xfail(reason="known")
def test_xfails_beside_them(subtests):
    with subtests.test(i=0):
        pass
    assert False
