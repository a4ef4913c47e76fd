"""A page as one file of HTML that needs nothing else: styles, scripts and data are in it; it asks nobody for more."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError, visible
from shunter.files import write_file
from shunter.metrics.labels import short
from shunter.report.page.parts import Beside, Chart, Details, Gantt, Page, Part, Table, Toned

if TYPE_CHECKING:
    from jinja2 import Environment

    from shunter.report.page.parts import Cell

ASSETS: Final = Path(__file__).parent / "assets"
TEMPLATE: Final = "page.html"
STYLE, PAGE_SCRIPT = "page.css", "page.js"
GANTT_SCRIPTS: Final = ("gantt_bars.js", "gantt_painter.js", "gantt_hands.js", "gantt.js")
"""In the order in which a page has them."""
PLOTLY: Final = "package_data/plotly.min.js"
"""In the package of Plotly."""
MAP_STYLE: Final = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')
"""By which Plotly's script asks whether the styles of its maps are there. It adds them otherwise, which our rule
forbids; there are no maps here, so that it is to find an empty element of this name."""
EMPTY_STYLE: Final = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
"""Plotly makes an empty element of styles and fills it by calls."""
DASH: Final = "–"


def write_page(path: Path, page: Page) -> None:
    """Writes a page as one file, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    text = page_html(page)
    write_file(path, lambda file: file.write(text.encode()))


def page_html(page: Page) -> str:
    """Returns a page as HTML."""
    kinds = {part.kind for part in every_part(page)}
    scripts = [asset(PAGE_SCRIPT)]
    if Gantt.kind in kinds:
        scripts[:0] = map(asset, GANTT_SCRIPTS)
    if Chart.kind in kinds:
        scripts.insert(0, _plotly())
    style = asset(STYLE)
    template = _environment().get_template(TEMPLATE)
    return template.render(
        page=page,
        style=style,
        scripts=scripts,
        map_styles=sorted({found for script in scripts for found in MAP_STYLE.findall(script)}),
        policy=_content_policy(style, scripts),
        data=_Data(),
        laid_out=laid_out,
    )


def every_part(page: Page) -> Iterator[Part]:
    """Yields the parts of a page, also those inside of others."""
    yield from _with_inner(page.summary.steps)
    for section in page.sections:
        yield from _with_inner(section.parts)


def _with_inner(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, Details | Beside):
            yield from _with_inner(part.parts)


@cache
def asset(name: str) -> str:
    """Returns the text of a file that pages are made with."""
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Returns Plotly's script, as its package has it."""
    # To import the package takes half a second, and only its script is wanted.
    found = find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise InputError("the package plotly is missing, which draws the figures; install it: pip install plotly")
    text = (Path(found.submodule_search_locations[0]) / PLOTLY).read_text(encoding="utf-8")
    # What would end the element, in a text of the script, means the same with a backslash.
    return text.replace("\r\n", "\n").replace("</script", "<\\/script")


def _content_policy(style: str, scripts: Iterable[str]) -> str:
    """Returns the rule by which a browser runs these scripts and no others, and asks no other machine for anything."""
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src-elem '{_hash(style)}' '{EMPTY_STYLE}'; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Marks that turn the direction of writing, and control characters, are shown and not obeyed.
    return Environment(
        loader=FileSystemLoader(ASSETS),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    # What is marked safe is ours: styles, scripts, data.
    return visible(value) if type(value) is str else value


@dataclass
class _Data:
    """Gives charts and Gantts their numbers, and their data in a form that HTML cannot misread."""

    _count: int = field(default=0)

    def next(self) -> int:
        """Returns a number that no other part has."""
        self._count += 1
        return self._count

    def json(self, value: object) -> Any:  # noqa: ANN401 - text that the template takes as it is
        """Returns JSON that may stand in a script element."""
        from markupsafe import Markup

        text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
        # As escapes of JSON, so that no text in it ends the element or begins a comment.
        return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@dataclass(frozen=True)
class LaidOut:
    """A table as the template needs it."""

    right: tuple[bool, ...]
    rows: list[list[tuple[str, str]]]
    """Cells as text and tone."""


def laid_out(table: Table) -> LaidOut:
    """Returns the texts of a table's cells, and which columns are set to the right."""
    if table.right is not None:
        right = tuple(place in table.right for place in range(len(table.columns)))
    else:
        right = tuple(_is_numeric(row[place] for row in table.rows) for place in range(len(table.columns)))
    return LaidOut(right, [[_cell(cell) for cell in row] for row in table.rows])


def _is_numeric(cells: Iterable[Cell]) -> bool:
    kinds = {type(cell) for cell in cells if cell is not None}
    return bool(kinds) and kinds <= {int, float}


def _cell(cell: Cell) -> tuple[str, str]:
    if isinstance(cell, Toned):
        return cell.text, cell.tone
    if cell is None:
        return DASH, "plain"
    if isinstance(cell, str):
        return cell, "plain"
    text = f"{cell:,}" if isinstance(cell, int) else short(cell)
    return text.replace("-", "−"), "plain"
