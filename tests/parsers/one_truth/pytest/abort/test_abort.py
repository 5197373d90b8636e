import os


def test_before():
    pass


def test_dies():
    os.abort()


def test_after():
    pass
