"""Runs code written for one accelerator on another and records what was redirected.

Importing this package only defines the functions below; it imports no torch. hook.py activates,
started by activate/sitecustomize.py or by `import TorchDevice`.
"""

from .forked import counted, record_anew
from .hook import deactivate
from .record import begin_test, end_test, flush, sites
from .state import active

__version__ = "0.1.0"
__all__ = [
    "active",
    "begin_test",
    "counted",
    "deactivate",
    "end_test",
    "flush",
    "record_anew",
    "sites",
]
