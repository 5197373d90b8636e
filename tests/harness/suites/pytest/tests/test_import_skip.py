import pytest

pytest.skip("no such hardware", allow_module_level=True)
