class TestOuter:
    def test_in_outer(self):
        pass

    class TestInner:
        def test_passes(self):
            pass

        def test_fails(self):
            assert False

        class TestInnermost:
            def test_passes(self):
                pass


class Base:
    def test_inherited(self):
        pass


class TestOne(Base):
    pass


class TestTwo(Base):
    def test_inherited(self):
        assert False
