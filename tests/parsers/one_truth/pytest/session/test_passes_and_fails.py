def test_passes():
    print("some output")


def test_fails():
    print("some output")
    assert 1 == 2, "two lines\nof a message"


def test_raises():
    raise ValueError("not an assertion")


def test_raises_without_a_message():
    raise KeyError
