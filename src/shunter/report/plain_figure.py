"""Figures in which a dollar sign is a dollar sign."""

from __future__ import annotations

import re
import warnings
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter, LogFormatterMathtext

from shunter.errors import visible

_POWER: Final = re.compile(r"\$\\mathdefault\{(?P<factor>.*?)10\^\{(?P<power>-?\d+)\}\}\$")
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class PlainFigure(Figure):
    """A figure that shows every text as it is.

    Matplotlib takes what stands between two dollar signs for a formula, and fails where it is none. A user or a policy
    may be called like that. Its own formulas, the powers of ten on logarithmic axes, are written in plain signs.
    """

    def draw(self, renderer: Any) -> None:  # noqa: ANN401 - whatever Matplotlib draws with
        """Draws the figure, for the screen or a file."""
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                for set_formatter, formatter in (
                    (axis.set_major_formatter, axis.get_major_formatter()),
                    (axis.set_minor_formatter, axis.get_minor_formatter()),
                ):
                    if isinstance(formatter, LogFormatterMathtext | FixedFormatter | FuncFormatter):
                        set_formatter(_PlainLabels(formatter))
        for text in self.findobj(Text):
            text.set_parse_math(False)
            text.set_text(visible(text.get_text()))
        # The labels of axes are made while they are drawn.
        with rc_context({"text.parse_math": False}), warnings.catch_warnings():
            # A name in letters that the font lacks is drawn as boxes: no reason to fill the terminal.
            warnings.filterwarnings("ignore", message="Glyph ")
            super().draw(renderer)


class _PlainLabels(Formatter):
    """Writes what another formatter writes, and 10³ where that writes a formula for it."""

    def __init__(self, inner: Formatter) -> None:
        self._inner = inner

    def set_locs(self, locs: list[float]) -> None:
        self._inner.set_locs(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        label = str(self._inner(x, pos))
        if not isinstance(self._inner, LogFormatterMathtext):
            return visible(label)
        found = _POWER.fullmatch(label)
        if found is None:
            return re.sub(r"\$|\\mathdefault|[{}]", "", label)
        return found["factor"].replace("\\times", "·") + "10" + found["power"].translate(_RAISED)
