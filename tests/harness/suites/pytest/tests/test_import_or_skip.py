import pytest

pytest.importorskip("not_installed_anywhere")
