"""A directive that draws a chart of what the examples of a page have computed.

    .. chart:: What the chart shows

       lines([Series("price", seconds, prices), Series("VWAP", seconds, vwap)])

The content goes on from the examples above it and ends with a chart of `sash.report.charts`. The
page shows the chart alone, as SVG: no script, and no package for plots.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import re
import textwrap
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from sash.report import charts

BLOCK = re.compile(r"^\.\. chart:: (.*)\n\n((?:   .*\n|\n)+)", re.MULTILINE)


def scope_after(text: str) -> dict[str, Any]:
    """The names that the examples of a text have made."""
    scope: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        # Some examples show an error; tests run them all and compare.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            exec(compile(example.source, "example", "exec"), scope)
    return scope


def drawn(code: str, scope: dict[str, Any]) -> str:
    """The chart that the last expression of `code` gives, as SVG."""
    tree = ast.parse(textwrap.dedent(code))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "the content of a chart ends with the chart"
    names = {"Series": charts.Series, "lines": charts.lines, "bars": charts.bars, **scope}
    exec(compile(tree, "chart", "exec"), names)
    return str(eval(compile(ast.Expression(last.value), "chart", "eval"), names))


def charts_of(text: str) -> list[str]:
    """The charts of a page, each drawn from the examples above it."""
    found = BLOCK.finditer(text)
    return [drawn(block.group(2), scope_after(text[: block.start()])) for block in found]


class ChartDirective(Directive):
    """`.. chart:: caption` with Python as its content."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        source = Path(self.state.document["source"]).read_text()
        above = "".join(source.splitlines(keepends=True)[: self.lineno - 1])
        chart = drawn("\n".join(self.content), scope_after(above))
        caption = f"<figcaption>{escape(self.arguments[0])}</figcaption>"
        return [nodes.raw("", f'<figure class="sash">{caption}{chart}</figure>', format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("chart", ChartDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
