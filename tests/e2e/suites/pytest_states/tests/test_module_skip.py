import pytest

pytest.importorskip("a_module_that_is_nowhere", reason="optional")
