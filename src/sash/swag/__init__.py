"""How a window is kept: one file per algorithm, one contract, a registry."""

from sash.swag.amta import AMTA
from sash.swag.b_int import BInt
from sash.swag.daba import DABA
from sash.swag.daba_lite import DABALite
from sash.swag.fiba import FiBA
from sash.swag.flat_fat import FlatFAT
from sash.swag.flat_fit import FlatFIT
from sash.swag.log_mta import LogMTA
from sash.swag.reactive import Reactive
from sash.swag.recalc import Recalc
from sash.swag.registry import ALGORITHMS, restore
from sash.swag.snapshot import SnapshotError
from sash.swag.stored.windows import Windows
from sash.swag.subtract_on_evict import SubtractOnEvict
from sash.swag.two_stacks import TwoStacks
from sash.swag.two_stacks_lite import TwoStacksLite
from sash.swag.window import Window

__all__ = [
    "ALGORITHMS",
    "AMTA",
    "DABA",
    "BInt",
    "DABALite",
    "FiBA",
    "FlatFAT",
    "FlatFIT",
    "LogMTA",
    "Reactive",
    "Recalc",
    "SnapshotError",
    "SubtractOnEvict",
    "TwoStacks",
    "TwoStacksLite",
    "Window",
    "Windows",
    "restore",
]
