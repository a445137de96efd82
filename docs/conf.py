"""Sphinx's settings; build.py gathers the pages that it is given."""

import os

project = "Tegula"
author = "the Tegula authors"
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "Tegula"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "footer_icons": [],
    "sidebar_hide_name": False,
}

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
# The signatures of the reference are no programs: `tl.load(pointer, ..)`.
suppress_warnings = ["misc.highlighting_failure"]

# Notebooks run once; a cell that changes makes its notebook run again.
nb_execution_mode = "off" if os.environ.get("TEGULA_DOCS_RUN") == "0" else "cache"
nb_execution_cache_path = os.environ.get("TEGULA_DOCS_CACHE", "")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# Without these the pages would load scripts from another host.
nb_ipywidgets_js = {}
