"""How Python becomes machine code: the only place that imports numba.

An algorithm is a file of plain functions that use the words of
`sash.kernel.words` (combine, get, put, hold, one, …). `bind` gives those words
their meaning for a monoid and a way of storing partials: as plain Python over
any objects, or compiled, with the user's own functions inlined.
"""

from sash.kernel.layout import Layout
from sash.kernel.words import Partial

__all__ = ["Layout", "Partial"]
