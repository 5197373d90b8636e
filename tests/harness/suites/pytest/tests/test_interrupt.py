def test_a():
    pass


def test_b():
    raise KeyboardInterrupt("in a test")


def test_c():
    pass
