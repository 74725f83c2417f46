"""How a window is aggregated: one algorithm a file, named as in its paper.

All share the protocol of :class:`~windrow.swag.base.Swag`: ``insert``, ``evict``, ``query``, ``len()``,
``evict_many``, and for batches ``roll`` and ``roll_time``. :func:`choose` picks one. ``Recalc`` is the
oracle.
"""

from windrow.errors import AggregateError, EmptyWindow, IntegerOverflow
from windrow.swag.amta import AMTA
from windrow.swag.b_int import BInt
from windrow.swag.base import Swag
from windrow.swag.choose import Choice, choose
from windrow.swag.daba import DABA
from windrow.swag.daba_lite import DABALite
from windrow.swag.fiba import FiBA
from windrow.swag.flat_fat import FlatFAT
from windrow.swag.foa import FOA
from windrow.swag.ioa import IOA
from windrow.swag.log_mta import LogMTA
from windrow.swag.recalc import Recalc
from windrow.swag.subtract_on_evict import SubtractOnEvict
from windrow.swag.two_stacks import TwoStacks
from windrow.swag.two_stacks_lite import TwoStacksLite

__all__ = [
    "AMTA",
    "DABA",
    "FOA",
    "IOA",
    "AggregateError",
    "BInt",
    "Choice",
    "DABALite",
    "EmptyWindow",
    "FiBA",
    "FlatFAT",
    "IntegerOverflow",
    "LogMTA",
    "Recalc",
    "SubtractOnEvict",
    "Swag",
    "TwoStacks",
    "TwoStacksLite",
    "choose",
]
