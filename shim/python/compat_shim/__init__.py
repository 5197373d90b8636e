"""Code written for one accelerator runs on another, and what was redirected is written down.

Importing this package does nothing but offer the functions below; it imports no torch.
Activation is hook.py's, started by activate/sitecustomize.py or by `import TorchDevice`.
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
