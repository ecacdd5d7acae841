"""The documentation as a site: `make docs` builds it into `docs/_build/html`, which opens from disk."""

import sys
from pathlib import Path

from tcpdynamics import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project, author, copyright = "tcpdynamics", "the tcpdynamics authors", "the tcpdynamics authors"
version = release = __version__
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_click", "sphinx_copybutton",
    "sphinx_design", "mathml", "written", "gallery", "measured", "tables",
]  # fmt: skip
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "gallery/*.py"]
html_theme, html_title, html_show_sphinx = "pydata_sphinx_theme", "tcpdynamics", False
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "header_links_before_dropdown": 7}
html_sidebars = {"index": []}
html_static_path = ["reference/written/static"]
html_copy_source = False
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"  # docstrings have them, with shapes and units
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
