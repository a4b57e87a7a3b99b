"""What can be shared, and which algorithm: slicing, shared plans, the choice.

Queries over one stream are planned together: rows are cut into slices that all of them
share, aggregations that one state can answer are kept once, and an algorithm is chosen
for what is asked. This is figure 1 of the Reactive Aggregator's paper, the longest call
of the last 24 hours, every minute: how long, how often, and whose.

>>> from sash import monoids as m
>>> from sash.plan import by_time, plan
>>> of = {"mxl": m.column(0, m.Max()), "num": m.column(0, m.MaxCount()), "who": m.ArgMax()}
>>> calls = plan([
...     by_time(monoid, "24 hours", "1 minute", closed="both", name=name)
...     for name, monoid in of.items()
... ])
>>> print(calls.explain())
3 queries by time, in 1 group
1. mxl, num, who
   windows    1 day every 1 minute, closed both
   slices     cutty: 1 in a composite slide of 1 minute, of 1 minute
   state      MaxCount, for Max, MaxCount; ArgMax, for ArgMax
   algorithm  TwoStacksLite: in order, one range: 3 combines on average, whatever the window
combines about 8 a row; 12 if each query were alone, with a row every 1 minute

Rows are (length, caller), times are nanoseconds. The first answers are due at the end
of the minute of the first call:

>>> minute = 60 * 10**9
>>> out = calls.run([(3.5, "ann"), (4.0, "bob"), (4.0, "eve")], [0, minute, 90 * 10**9])
>>> [(int(end // minute), who) for end, who in zip(out["who"].end[:3], out["who"].answer)]
[(0, 'ann'), (1, 'bob'), (2, 'bob')]
>>> out["mxl"].answer[2], out["num"].answer[2]
(4.0, 2)
"""

from sash.plan.choose import Choice, Need, choose
from sash.plan.plan import Plan, plan
from sash.plan.query import Periodic, Query, by_count, by_time
from sash.plan.run import Fired
from sash.plan.shared import SharedPlan
from sash.plan.sharing import Shared, share

__all__ = [
    "Choice", "Fired", "Need", "Periodic", "Plan", "Query", "Shared", "SharedPlan", "by_count",
    "by_time", "choose", "plan", "share",
]  # fmt: skip
