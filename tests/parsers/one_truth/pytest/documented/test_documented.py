def passes():
    """
    >>> 1 + 1
    2
    """


def fails():
    """
    >>> 1 + 1
    3
    """


def raises():
    """
    >>> int("x")
    1
    """


def test_one():
    pass
