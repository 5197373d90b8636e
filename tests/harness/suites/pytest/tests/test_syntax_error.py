def test(:
    pass
