def test_passes():
    pass


def test_fails_in_the_package():
    assert 1 == 2
