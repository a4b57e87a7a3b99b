"""Sketches: fixed-size vectors that answer about many items, approximately.

Bloom filters (Bloom 1970), CountMin (Cormode and Muthukrishnan 2005) and HyperLogLog
(Flajolet et al. 2007, with Ertl's estimator of 2017, which needs no correction tables).
A vector is neutral by itself, so one monoid serves objects and compiled numbers, and the
states of both are the same bits. Rows and bits are chosen by double hashing (Kirsch and
Mitzenmacher 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sash.monoids.distinct import union
from sash.monoids.hashing import as_number, halves
from sash.monoids.monoid import Monoid, same
from sash.monoids.recipe import entry, whole
from sash.monoids.sums import plus

BITS = 32  # of an element of a Bloom filter's vector


def _sketch(
    name: str,
    zero: np.ndarray,
    fill: Callable[[Any, Any], None],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] = same,
) -> Monoid:
    zero.setflags(write=False)

    def lift(x: Any) -> Any:
        out = zero.copy()
        if x is not None:
            fill(out, as_number(x))
        return out

    return Monoid(name, zero, lift, combine, lower, commutative=True, fill=fill)


def Bloom(bits: int, hashes: int) -> Monoid:
    """A Bloom filter: which items can have been seen. `bloom_contains` asks it.

    The answer is the filter's bits as a vector of unsigned integers of 32 bits; `bits`
    is rounded up to a whole number of them. With n distinct items, about
    (1 - exp(-hashes · n / bits)) ** hashes of those not seen are taken for seen.

    >>> w = Bloom(bits=1024, hashes=3)
    >>> seen = w.lower(w.combine(w.lift("ann"), w.lift("bob")))
    >>> bloom_contains(seen, "ann", hashes=3), bloom_contains(seen, "eve", hashes=3)
    (True, False)
    """
    words = -(-whole("Bloom", "bits", bits, 1) // BITS)
    hashes = whole("Bloom", "hashes", hashes, 1)

    def fill(out: Any, x: Any) -> None:
        for i in range(hashes):
            bit = place(x, i, words * BITS)
            out[bit // BITS] = out[bit // BITS] | (1 << (bit % BITS))

    monoid = _sketch("Bloom", np.zeros(words, np.uint32), fill, union)
    return entry(Bloom, monoid, bits=bits, hashes=hashes)


def place(x: Any, i: Any, size: Any) -> Any:
    """The i-th of several places of `x` among `size`."""
    high, low = halves(x)
    return (high + i * (low | 1)) % size


def bloom_contains(answer: np.ndarray, x: Any, hashes: int) -> bool:
    """Whether a Bloom filter's answer can have seen `x`; never False if it has.

    >>> w = Bloom(bits=1024, hashes=3)
    >>> seen = w.lower(w.combine(w.lift("ann"), w.lift("bob")))
    >>> bloom_contains(seen, "ann", 3), bloom_contains(seen, "cyd", 3)
    (True, False)
    """
    number = as_number(x)
    bits = [place(number, i, len(answer) * BITS) for i in range(hashes)]
    return all(int(answer[bit // BITS]) >> (bit % BITS) & 1 for bit in bits)


def CountMin(width: int, depth: int) -> Monoid:
    """How often each item was seen, about. `countmin_estimate` asks it.

    The answer is a vector of `depth` rows of `width` counters, one after another. An
    estimate is never too small; it is more than e / width of all items too large with
    a probability of at most exp(-depth).

    >>> w = CountMin(width=64, depth=4)
    >>> seen = w.lower(w.combine(w.lift("ann"), w.combine(w.lift("bob"), w.lift("ann"))))
    >>> countmin_estimate(seen, "ann", depth=4)
    2
    """
    width = whole("CountMin", "width", width, 1)
    depth = whole("CountMin", "depth", depth, 1)

    def fill(out: Any, x: Any) -> None:
        for row in range(depth):
            out[row * width + place(x, row, width)] += 1

    monoid = _sketch("CountMin", np.zeros(width * depth, np.int64), fill, plus)
    return entry(CountMin, monoid, width=width, depth=depth)


def countmin_estimate(answer: np.ndarray, x: Any, depth: int) -> int:
    """About how often a CountMin's answer has seen `x`; never less than it has.

    >>> w = CountMin(width=64, depth=4)
    >>> seen = w.lower(w.combine(w.lift("ann"), w.combine(w.lift("bob"), w.lift("ann"))))
    >>> countmin_estimate(seen, "ann", 4), countmin_estimate(seen, "cyd", 4)
    (2, 0)
    """
    number, width = as_number(x), len(answer) // depth
    return min(int(answer[row * width + place(number, row, width)]) for row in range(depth))


def HyperLogLog(p: int = 12) -> Monoid:
    """About how many distinct items were seen, within 1.04 / sqrt(2 ** p) as a rule.

    The state is 2 ** p registers of a byte; p is from 4 to 18.

    >>> w = HyperLogLog(p=10)
    >>> w.lower(w.combine(w.lift("ann"), w.combine(w.lift("bob"), w.lift("ann"))))
    2
    """
    p = whole("HyperLogLog", "p", p, 4)
    if p > 18:
        raise ValueError(f"HyperLogLog: p must be at most 18, not {p}")
    registers = 1 << p

    def fill(out: Any, x: Any) -> None:
        high, low = halves(x)
        register, found = high >> (32 - p), first_one(high & ((1 << (32 - p)) - 1), low, p)
        if found > out[register]:
            out[register] = found

    def lower(v: Any) -> Any:
        return int(cardinality(v, registers, 64 - p) + 0.5)

    monoid = _sketch("HyperLogLog", np.zeros(registers, np.uint8), fill, most, lower)
    return entry(HyperLogLog, monoid, p=p)


def most(a: Any, b: Any) -> Any:
    """The larger of two registers, or of each of two vectors of them."""
    return np.maximum(a, b)


def first_one(high: Any, low: Any, p: Any) -> Any:
    """The place of the first one among the 64 - p bits of `high` and `low`, from 1."""
    place, left = (1, high) if high else (33 - p, low)
    width = 32 - p if high else 32
    return place + width - bit_length(left)


def bit_length(n: Any) -> Any:
    """How many bits a number of 32 has from its first one on."""
    length = 0
    while n > 0:
        n >>= 1
        length += 1
    return length


def cardinality(v: Any, registers: Any, bits: Any) -> Any:
    """Ertl's improved estimate: 1 / (2 ln 2) of the registers' harmonic mean."""
    empty, full, inverse = 0, 0, 0.0
    for i in range(registers):
        k = int(np.int64(v[i]))
        if k == 0:
            empty += 1
        elif k > bits:
            full += 1
        else:
            inverse += math.ldexp(1.0, -k)
    inverse += registers * tau(1.0 - full / registers) * math.ldexp(1.0, -bits)
    inverse += registers * sigma(empty / registers)
    return registers / inverse * registers / (2.0 * math.log(2.0))


def sigma(x: Any) -> Any:
    """x + the sum of x ** 2**k * 2**(k - 1) over k >= 1; infinite for 1."""
    if x == 1.0:
        return math.inf
    y, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * y
        y += y
    return total


def tau(x: Any) -> Any:
    """(1 - x - the sum of (1 - x ** 2**-k) ** 2 * 2**-k over k >= 1) / 3."""
    if x == 0.0 or x == 1.0:
        return 0.0
    y, total, before = 1.0, 1.0 - x, -1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        y *= 0.5
        total -= (1.0 - x) ** 2 * y
    return total / 3.0
