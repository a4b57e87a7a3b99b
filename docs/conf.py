"""The documentation: `python3 do.py docs` builds it into docs/_build, offline."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import sash  # noqa: E402

project = "Sash"
author = "the authors of Sash"
copyright = "2026, the authors of Sash"
release = version = sash.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "algorithms", "charts", "pictures"]
exclude_patterns = ["_build", "decisions", "measured"]
nitpicky = False
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"

html_theme = "furo"
html_title = f"Sash {release}"
html_static_path = ["_static", "../src/sash/report/charts.css"]
html_css_files = ["charts.css", "sash.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "tango"
