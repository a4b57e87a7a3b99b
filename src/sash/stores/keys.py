"""Keys that sort as what they stand for, so that a run of pages is a range."""

from __future__ import annotations


def numbers(*ns: int) -> bytes:
    """Whole numbers as a key of 8 bytes each, big-endian: keys sort as the numbers do.

    >>> numbers(2, 255) < numbers(2, 256) < numbers(10, 0)
    True
    >>> numbers(1).hex()
    '0000000000000001'
    """
    try:
        return b"".join(n.to_bytes(8, "big") for n in ns)
    except OverflowError:
        raise ValueError(f"a number in a key is from 0 to 2^64 - 1, not {ns}") from None


def after(prefix: bytes) -> bytes | None:
    """The least key above all that begin with `prefix`; None when there is none.

    So ``(prefix, after(prefix))`` is the range of them all.

    >>> after(b"ab"), after(b"a\\xff"), after(b"\\xff")
    (b'ac', b'b', None)
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
