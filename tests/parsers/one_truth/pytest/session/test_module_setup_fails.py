def setup_module():
    raise OSError("no module set-up")


def test_one():
    pass


def test_two():
    pass
