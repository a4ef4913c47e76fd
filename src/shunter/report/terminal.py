"""The terminal as tables and lines for people use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich.console

from shunter.errors import visible

if TYPE_CHECKING:
    from rich.text import Text


class Console(rich.console.Console):
    """Prints names as they are written: a sign in one of them that the terminal would obey is shown instead."""

    def render_str(self, text: str, **style: Any) -> Text:  # noqa: ANN401 - what Rich takes besides
        """Returns what is printed of a text; all of them, cells of tables too, come by here."""
        return super().render_str(visible(text), **style)
