def test_before():
    pass


def test_fails():
    assert False


def test_after():
    pass
