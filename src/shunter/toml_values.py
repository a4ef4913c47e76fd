"""Values as TOML writes them, so that reading gives the same again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def toml_value(value: Any) -> str:  # noqa: ANN401 - whatever a section holds
    """Returns text, a number, a truth value, a list or a table as it stands behind the equals sign."""
    if isinstance(value, str):
        # TOML's strings are JSON's, except that it wants one more character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)
