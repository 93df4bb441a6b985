"""What is installed instead of a missing module: under another name, for the same purpose, or with a similar name."""

from __future__ import annotations

import re
import sys
from _frozen_importlib_external import PathFinder

# Modules for the same purpose, in order of preference. Chosen: those that agents import most.
_PURPOSES = tuple(
    line.split()
    for line in """
    pypdf PyPDF2 pypdfium2 pdfplumber pdfminer pymupdf fitz
    reportlab fpdf weasyprint
    openpyxl xlsxwriter python_calamine xlrd
    docx docx2txt mammoth
    icalendar ics vobject
    pandas polars pyarrow duckdb
    duckdb sqlite3
    matplotlib plotly bokeh altair
    PIL cv2 skimage imageio
    bs4 lxml selectolax html5lib html.parser
    lxml xmltodict defusedxml xml.etree.ElementTree
    markdown markdown_it mistune commonmark
    markdownify html2text
    yaml ruamel
    tomli tomlkit toml tomllib
    orjson ujson simplejson json
    regex re
    rapidfuzz thefuzz fuzzywuzzy Levenshtein jellyfish textdistance difflib
    charset_normalizer chardet cchardet
    dateutil pendulum arrow dateparser datetime
    pytz zoneinfo
    tabulate prettytable
    Crypto Cryptodome cryptography
    pytest nose unittest
""".strip().splitlines()
)
# What the module of a package is called, and what a module of Python 2 is called now.
_NAMES = dict(
    pair.split(":")
    for pair in [
        "beautifulsoup4:bs4",
        "BeautifulSoup:bs4",
        "pillow:PIL",
        "Pillow:PIL",
        "Image:PIL",
        "opencv:cv2",
        "opencv_python:cv2",
        "scikit_learn:sklearn",
        "scikit_image:skimage",
        "pyyaml:yaml",
        "PyYAML:yaml",
        "ruamel_yaml:ruamel.yaml",
        "python_docx:docx",
        "python_pptx:pptx",
        "python_dateutil:dateutil",
        "PyMuPDF:pymupdf",
        "pyjwt:jwt",
        "PyJWT:jwt",
        "pycryptodome:Crypto",
        "fpdf2:fpdf",
        "protobuf:google.protobuf",
        "urllib2:urllib.request",
        "urlparse:urllib.parse",
        "cPickle:pickle",
        "StringIO:io",
        "cStringIO:io",
        "ConfigParser:configparser",
        "Queue:queue",
        "HTMLParser:html.parser",
        "imp:importlib",
        "distutils:setuptools",
        "pkg_resources:importlib.metadata",
        "pipes:shlex",
    ]
)
_MAX_NAMED = 3
_NEAR = 0.8
"""Of a suggestion: short names have many neighbours. Chosen."""


def explain(name: str, why: str) -> str:
    """Says what to import instead of a missing top-level module, then why that one is missing."""
    if name in _NAMES:
        return f"the module is called {_NAMES[name]}: import {_NAMES[name]}"
    if name == "IPython":
        return f"display(value) needs no import and shows objects with _repr_html_, _repr_png_ … . Otherwise: {why}"
    others = here_for(name)
    if others:
        return f"{_listed(others)} for the same purpose. Otherwise: {why}"
    near = _similar(name)
    return f"did you mean {' or '.join(map(repr, near))}? Otherwise: {why}" if near else why


def offer(requirements: list[str]) -> str:
    """A sentence about what is installed for the purpose of packages that could not be installed; may be empty."""
    found = [other for text in requirements for other in here_for(re.split(r"[^\w.-]", text)[0].replace("-", "_"))]
    return f" {_listed(list(dict.fromkeys(found))[:_MAX_NAMED])} for the same purpose." if found else ""


def here_for(name: str) -> list[str]:
    """Installed modules for the same purpose, at most `_MAX_NAMED`."""
    name = _NAMES.get(name, name)
    others = [other for line in _PURPOSES if name in line for other in line if other != name]
    return [other for other in dict.fromkeys(others) if _is_here(other.partition(".")[0])][:_MAX_NAMED]


def _listed(names: list[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} installed here"


def _is_here(name: str) -> bool:
    if name in sys.stdlib_module_names:
        return name != "tomllib" or sys.version_info >= (3, 11)
    try:
        return PathFinder.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _similar(name: str) -> list[str]:
    import difflib
    import pkgutil

    found = [module.name for module in pkgutil.iter_modules()]
    known = {one.casefold(): one for one in (*sys.stdlib_module_names, *found) if not one.startswith("_")}
    return [known[near] for near in difflib.get_close_matches(name.casefold(), known, 2, _NEAR)]
