"""How users check their own: laws, an oracle, a monoid that counts, running answers, strategies.

Nothing in Sash imports it. `sash.testing.strategies` needs hypothesis; the rest needs nothing.
"""

from sash.monoids.compare import alike
from sash.monoids.laws import Counterexample, check_laws
from sash.testing.counting import Counter, counting
from sash.testing.oracle import Oracle, TimedOracle, replay
from sash.testing.running import running

__all__ = [
    "Counter",
    "Counterexample",
    "Oracle",
    "TimedOracle",
    "alike",
    "check_laws",
    "counting",
    "replay",
    "running",
]
