"""No class reads another one's private attributes, and no module imports another one's."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

NAMED_TUPLES = {"_replace", "_fields", "_make", "_asdict"}
FOREIGN = {
    "cli/main.py": {"_exit"},
    "kernel/code.py": {"_reduce", "_rebuild", "_final_module", "_engine", "_defined_symbols"},
    "monoids/fingerprint.py": {"_lru_cache_wrapper"},
    "spark/asof_near.py": {"_jdf"},
    "spark/gateway.py": {"_gateway", "_jvm"},
    "spark/session.py": {"_jvm"},
    "spark/split.py": {"_jdf", "_explain_string"},
    "spark/window_spec.py": {
        "_jvm", "_jc", "_jspec", "_frame", "_partitionSpec", "_orderSpec", "_child", "_ascending",
        "_start", "_end", "_isRowFrame",
    },
    "testing/torture/__main__.py": {"_exit"},
}  # fmt: skip
"""What numba, pyspark and the standard library have no public name for."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name != "_"


def defined(tree: ast.Module) -> Iterator[str]:
    """The names of functions, variables and attributes of `self` that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr


def is_own(node: ast.Attribute) -> bool:
    """Whether it is an attribute of `self`, `cls` or `super()`."""
    base = node.value.func if isinstance(node.value, ast.Call) else node.value
    return isinstance(base, ast.Name) and base.id in ("self", "cls", "super")


def private_reads(source: str) -> list[str]:
    """Where a module reads what is private to another one."""
    tree = ast.parse(source)
    own, found = {*defined(tree)}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not is_own(node) and node.attr not in own | NAMED_TUPLES:
                found.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found += [name.name for name in node.names if is_private(name.name)]
    return found


def test_no_class_reads_what_is_private_to_another(root: Path) -> None:
    package = root / "src" / "sash"
    wrong = {}
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        found = set(private_reads(path.read_text())) - FOREIGN.get(name, set())
        if found:
            wrong[name] = found
    assert not wrong


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(window): return window._at", ["_at"]),
        ("from sash.kernel.words import _word, word", ["_word"]),
        ("class A:\n    def f(self): return self._window._at", ["_at"]),
        ("class A(B):\n    def f(self): return self._x + super()._y()", []),
        ("class A:\n    _x = 1\n    def f(self, other): return other._x", []),
        ("def f(at): return at._replace(f=1)", []),
    ],
)
def test_the_check_finds_them(source: str, found: list[str]) -> None:
    assert private_reads(source) == found
