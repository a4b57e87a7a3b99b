"""Reports: one HTML file that needs no network, for a screen, a phone or paper.

    from sash.report import Page, Figure, Section, charts

Charts are SVG drawn here, crisp at any size and a few kilobytes each; colours are CSS
variables, so that a page follows the reader's light or dark setting and prints on white.
"""

from sash.report.charts import Series, bars, histogram, lines
from sash.report.page import Figure, Page, Section, Table, Tile
from sash.report.text_bands import bands

__all__ = [
    "Figure", "Page", "Section", "Series", "Table", "Tile", "bands", "bars", "histogram", "lines",
]  # fmt: skip
