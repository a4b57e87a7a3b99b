"""FiBA: out-of-order windows with bulk insertion and bulk eviction.

Order   any.   Needs   associativity.
Cost    amortized: insert O(log d), d entries from the nearer end, so O(1) in order; evict
        O(1); bulk insert O(log d + m (1 + log (d / m))); bulk evict O(log m); query 2 combines.
        Space O(n): 16 bytes of time and value take up to 24.
Paper   Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and
        Insertions, 2023.
Legend  n entries in the window, m in a bulk, d its distance from an end; a is a node's
        arity, min_arity <= a <= b, and it has a - 1 entries; x is a node.

    tree.py       nodes and cursors           (section 3.2)
    aggregate.py  location-sensitive aggregates, pass down
    search.py     eviction boundary, insertion sites    (step 1 of sections 4 and 5)
    evict.py      bulk and single eviction: pass up     (section 4)
    repair.py     move, merge                           (section 4)
    insert.py     bulk and single insertion: pass up    (section 5)
    split.py      interleave and split                  (section 5)
    nodes.py      the deferred free list                (section 6)
    journal.py    an operation that fails is undone
    ranges.py     range query
    drivers.py    what is entered once per bulk, plain or compiled
    memory.py, times.py, steps.py, state.py, bulks.py, window.py, check.py   the window itself
"""

from sash.swag.fiba.window import FiBA

__all__ = ["FiBA"]
