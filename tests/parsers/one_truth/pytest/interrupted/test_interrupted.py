def test_before():
    pass


def test_exits():
    raise KeyboardInterrupt


def test_after():
    pass
