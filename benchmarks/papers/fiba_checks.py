"""What section 7 of the FiBA paper says of its figures 7 to 14, and of a billion entries."""

from __future__ import annotations

from benchmarks.papers.experiment import Check, Data
from benchmarks.papers.shapes import explained, is_ahead, is_flat, with_start


def evict(found: Data) -> list[Check]:
    """Section 7.1: native bulk evictions have the best latencies."""
    slow = ("FiBA 8 singly", "TwoStacksLite", "DABALite")
    checks = [is_ahead(found, other, one, "median")
              for one in ("FiBA 4 bulk", "FiBA 8 bulk", "AMTA") for other in slow]  # fmt: skip
    return explained(checks, AMTA_CALLS)


AMTA_CALLS = (
    "A call of AMTA's bulk eviction from Python takes as long for 2 items as for 1,024, about 10 "
    "microseconds of sums, of which its compiled part is a tenth; a compiled loop over 1,024 "
    "single evictions takes less."
)
CALLS = (
    "Each bulk is a call from Python, which is most of the time of small bulks: a "
    "window in order takes 2 sums in 8 microseconds and 1,024 in 10, FiBA's tree in 2 and 6."
)
COMBINES = (
    f"{CALLS} Larger partials show the combines instead: FiBA makes 1.1 per item of a bulk in "
    "order, TwoStacksLite 1 and DABALite 2 (counted)."
)


def insert(found: Data) -> list[Check]:
    """Section 7.1: in order, the algorithms that only work in order are the best."""
    in_order = ("DABALite", "TwoStacksLite")
    return explained((is_ahead(found, "FiBA 8 bulk", one, "median") for one in in_order), COMBINES)


def late(found: Data) -> list[Check]:
    """Section 7.1: out of order, bulks have lower latency."""
    return [is_ahead(found, f"FiBA {k} singly", f"FiBA {k} bulk", "median") for k in (4, 8)]


def free_list(found: Data) -> list[Check]:
    """Section 7.1: without the deferred free list, evictions take much longer."""
    return [is_ahead(found, f"FiBA {k} bulk, no deferred free list", f"FiBA {k} bulk", "median")
            for k in (4, 8)]  # fmt: skip


def bulk(names: tuple[str, str], found: Data) -> list[Check]:
    """Section 7.2: larger bulks are faster; Two-Stacks Lite is the fastest in order."""
    checks = []
    for name in (*names, "AMTA"):
        values = found[name]
        ratio = max(values.values()) / values[min(values)]
        claim = f"{name} is faster in larger bulks"
        checks.append(Check(claim, f"best / m = 1: {ratio:.1f}", ratio > 1))
    for m in (max(m for m in found["AMTA"] if m <= 1024), max(found["AMTA"])):
        for name in names:
            ahead = is_ahead(found, "TwoStacksLite", name, m)._replace(why=CALLS)
            checks.append(with_start(ahead, found, "TwoStacksLite", name))
    return checks


def distance(found: Data) -> list[Check]:
    """Section 7.2: a larger distance does not slow bulks down, and they beat single inserts."""
    flat = [is_flat(found, f"FiBA {k} bulk", 3) for k in (4, 8)]
    return [*flat, *(is_ahead(found, f"FiBA {k} bulk", f"FiBA {k} singly") for k in (4, 8))]


def single(found: Data) -> list[Check]:
    """Section 7.2: without bulks, those that can have them have no advantage."""
    checks = [is_flat(found, "FiBA 4 singly", 8)]
    for k in (4, 8):
        singly, bulk = found[f"FiBA {k} singly"], found[f"FiBA {k} bulk evict"]
        ratios = [bulk[d] / singly[d] for d in singly]
        said = f"bulk evict / singly = {min(ratios):.2f} to {max(ratios):.2f}"
        checks.append(Check(f"bulks of one entry are no advantage, FiBA {k}", said,
                            max(ratios) < 1.1))  # fmt: skip
    return checks


def billion(found: Data) -> list[Check]:
    """Section 7.3: memory per entry does not depend on the window's size."""
    name = found.names[0]
    bytes_each = {point.x: point.y for point in found.points}["peak resident bytes per entry"]
    said = f"{bytes_each:.1f} bytes per entry, {name}"
    return [Check("an entry takes at most the paper's 70 bytes", said, bytes_each <= 70)]
