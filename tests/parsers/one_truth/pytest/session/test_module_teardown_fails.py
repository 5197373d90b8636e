def teardown_module():
    raise OSError("no module tear-down")


def test_one():
    pass


def test_two():
    pass
