import not_installed_anywhere


def test_x():
    pass
