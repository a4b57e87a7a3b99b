"""State as bytes and back: exact, without running anything, with damage found."""

import contextlib
import math
import os
import pickle
import random
import struct
from collections import namedtuple
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sash.stores import DamagedState, PickledState
from sash.stores.encoding import FORMAT, HEADER_SIZE, decode, encode, seal, unseal

zones = st.none() | st.timezones() | st.timedeltas(
    timedelta(hours=-23), timedelta(hours=23)
).map(timezone)  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters())  # with lone surrogates
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.times(timezones=zones)
    | st.datetimes(timezones=zones)
    | st.timedeltas()
    | st.sampled_from([np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.bool_(True)])
    | st.sampled_from([np.datetime64("2024-01-02T03:04:05.123456789"), np.timedelta64(7, "h")])
)
hashable = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.dates()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(hashable, inner)
        | st.sets(hashable)
        | st.frozensets(hashable)
    ),
    max_leaves=20,
)


def same(a: object, b: object) -> bool:
    """Equal, with the same types all the way down, zeros with their signs."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, set | frozenset):
        return a == b and sorted(map(repr, a)) == sorted(map(repr, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, datetime | time):
        return repr(a) == repr(b)  # equal times of other zones are equal
    return repr(a) == repr(b)


@given(values)
@example(10**400)
@example([-(2**63), 2**63 - 1, 2**63, -(2**63) - 1])
@example(Decimal("-0E-7"))
@example(Decimal("sNaN"))
@example(datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")))
@example(datetime(2024, 10, 27, tzinfo=timezone(timedelta(hours=5.5), "IST")))
def test_what_is_read_is_what_was_written(value):
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize("is_summer", [True, False])
def test_times_of_pytz_are_written_as_those_of_zoneinfo(is_summer):
    """Older pyarrow gives such times; both are the same key."""
    pytz = pytest.importorskip("pytz")
    twice = datetime(2024, 10, 27, 2, 30)
    theirs = pytz.timezone("Europe/Berlin").localize(twice, is_dst=is_summer)
    ours = twice.replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=not is_summer)
    assert encode(theirs) == encode(ours)
    assert encode(pytz.UTC.localize(twice)) == encode(twice.replace(tzinfo=ZoneInfo("UTC")))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(5),
        np.arange(6.0).reshape(2, 3).T,
        np.array(3.5),
        np.zeros((0, 4), "f4"),
        np.array([1, 2], ">i4"),
        np.array(["a", "bcd"]),
        np.array([b"a", b""]),
        np.array(["2024-01-01", "NaT"], "M8[us]"),
        np.array([(1, 2.5), (3, 4.5)], [("n", "i8"), ("mean", "f8", (2,))]),
        np.array([True, False]),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_of_numbers_come_back_with_type_and_shape(array):
    found = decode(encode((array, 1)))[0]
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()
    assert found.flags.writeable


def test_a_value_that_contains_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself"):
        encode(value)


Point = namedtuple("Point", "x y")


class Hostile:
    """A pickle of it leaves a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    "value", [Point(1, 2), {1: object()}, np.array([1, "a"], object), np.ma.array([1], mask=[True])]
)
def test_objects_are_refused_unless_pickles_are_allowed(value):
    with pytest.raises(TypeError, match="not plain data"):
        encode(value)
    if not isinstance(value, dict):
        assert repr(decode(encode(value, allow_pickle=True), allow_pickle=True)) == repr(value)


def test_a_pickle_is_not_run(tmp_path):
    trap = tmp_path / "ran"
    forged = encode([1, Hostile(trap)], allow_pickle=True)
    with pytest.raises(PickledState, match="allow_pickle=True"):
        decode(forged)
    assert not trap.exists()
    for blob in (pickle.dumps(Hostile(trap)), b"P" + pickle.dumps(Hostile(trap))):
        with pytest.raises((DamagedState, PickledState)):
            decode(blob)
    assert not trap.exists()
    decode(forged, allow_pickle=True)
    assert trap.exists()


def test_an_array_of_objects_cannot_be_forged():
    forged = encode(np.arange(2)).replace(b"<i8", b"|O8")
    with pytest.raises(DamagedState, match="objects"):
        decode(forged)


def test_whatever_bytes_there_are_reading_them_ends_in_a_value_or_a_clear_error():
    blob = encode([{"a": (1, 2.5, "x", None)}, {3, 4}, np.arange(3), Decimal(1), date(2024, 1, 2),
                   datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC")), 10**30])  # fmt: skip
    generator = random.Random(5)
    for _ in range(5000):
        forged = bytearray(blob)
        for _ in range(generator.randint(1, 4)):
            forged[generator.randrange(len(forged))] = generator.randrange(256)
        with contextlib.suppress(DamagedState, PickledState):
            decode(forged)
    for length in range(len(blob)):
        with pytest.raises(DamagedState):
            decode(blob[:length])


def test_deep_nesting_and_huge_counts_are_refused():
    for blob in (b"l" + struct.pack("<Q", 1), b"l" + struct.pack("<Q", 2**63), b"\0", b""):
        with pytest.raises(DamagedState):
            decode(blob)
    with pytest.raises(DamagedState):
        decode((b"l" + struct.pack("<Q", 1)) * 100_000 + b"N")


# Seals


def test_a_seal_gives_the_payload_back_without_a_copy():
    array = np.arange(1000.0)
    blob = seal(array, kind=b"page")
    assert unseal(blob, b"page") == array.tobytes()
    assert len(blob) == HEADER_SIZE + array.nbytes
    assert np.shares_memory(np.frombuffer(unseal(blob, b"page")), np.frombuffer(blob, np.uint8))
    assert bytes(unseal(seal(b"", kind=b"tails"), b"tails")) == b""


def test_every_flipped_bit_is_found():
    blob = seal(encode({"at": (1, 2, 3)}), kind=b"snapshot")
    for i in range(8 * len(blob)):
        flipped = bytearray(blob)
        flipped[i // 8] ^= 1 << i % 8
        with pytest.raises(DamagedState):
            unseal(flipped, b"snapshot")


def test_every_other_length_is_found():
    blob = seal(b"some payload", kind=b"page")
    for cut in [*(blob[:length] for length in range(len(blob))), blob + b"\0"]:
        with pytest.raises(DamagedState, match=r"page.*rebuild"):
            unseal(cut, b"page")


def test_another_kind_another_format_and_what_is_not_sealed_are_named():
    blob = seal(b"rows", kind=b"page")
    with pytest.raises(DamagedState, match="a page, not a header"):
        unseal(blob, b"header")
    newer = blob[:4] + struct.pack("<I", FORMAT + 1) + blob[8:]
    with pytest.raises(DamagedState, match=f"of format {FORMAT + 1}"):
        unseal(newer, b"page")
    with pytest.raises(DamagedState, match="of format 1"):
        unseal(b"SASH" + bytes(100), b"snapshot")
    with pytest.raises(DamagedState, match="not a page of format"):
        unseal(bytes(100), b"page")


@pytest.mark.parametrize("kind", [b"", b"ninebytes", b"a\0"])
def test_kinds_are_short(kind):
    with pytest.raises(ValueError, match="1 to 8 bytes"):
        seal(b"", kind=kind)
