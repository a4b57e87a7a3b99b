"""Specs, and what is said when they name nothing or a package is missing."""

from __future__ import annotations

import pickle
import sys

import pytest

from sash import stores


@pytest.mark.parametrize("spec", ["", "windows", "rocks:path", "LMDB:path", "memory"])
def test_unknown_kinds(spec):
    with pytest.raises(ValueError, match="memory, lmdb, redis, rediss") as error:
        stores.open(spec)
    assert repr(spec) in str(error.value)


def test_specs_that_say_too_much_or_too_little():
    with pytest.raises(ValueError, match="its spec is 'memory:'"):
        stores.open("memory:here")
    with pytest.raises(ValueError, match="'lmdb:' names no directory"):
        stores.open("lmdb:")
    with pytest.raises(TypeError, match="speed"):
        stores.open("memory:", speed=2)


@pytest.mark.parametrize(
    ("package", "spec"), [("lmdb", "lmdb:nowhere"), ("redis", "redis://127.0.0.1:1/0")]
)
def test_a_missing_package(monkeypatch, tmp_path, package, spec):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)  # an import of it now fails
    with pytest.raises(ImportError, match=rf"need the package {package}.*sash\[stores\]"):
        stores.open(spec)
    assert list(tmp_path.iterdir()) == []


def test_errors_travel_between_processes():
    error = stores.StoreFull("lmdb:path", "no room")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is stores.StoreFull
    assert (again.store, str(again)) == ("lmdb:path", "lmdb:path: no room")
