import pytest

pytest.exit("enough")
