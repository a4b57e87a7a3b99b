"""A directive that runs an example and shows it, and the picture that it ends with."""

from __future__ import annotations

import ast
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from sash.pictures import Picture


def picture_of(code: str) -> Picture:
    """What the last expression of an example gives, a picture."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "an example ends with its picture"
    scope: dict[str, Any] = {}
    exec(compile(tree, "example", "exec"), scope)
    found = eval(compile(ast.Expression(last.value), "example", "eval"), scope)
    assert isinstance(found, Picture)
    return found


class PictureDirective(Directive):
    """`.. picture::` with Python as its content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        block = nodes.literal_block(code, code, language="python")
        return [block, framed(picture_of(code))]


def framed(picture: Picture) -> nodes.raw:
    """The picture in a frame of its own."""
    return nodes.raw("", f'<div class="picture">{picture._repr_html_()}</div>', format="html")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("picture", PictureDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
