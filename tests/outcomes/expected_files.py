"""The expected files: how labels are written, read and compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.outcomes.cases import Case

FOLDER = Path(__file__).with_name("expected")
DIGITS = 9
"""Enough to see a change of behavior, and too few to see another order of summation."""
MOST_LINES = 20
MISSING = "(missing)"


def path_of(case: Case) -> Path:
    """The expected file of a case."""
    return FOLDER / case.command / f"{case.name}.json"


def write(case: Case, labels: dict[str, Any]) -> None:
    """Writes the labels of a case."""
    path = path_of(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{as_text(rounded(labels))}\n", encoding="utf-8")


def as_text(value: Any, indent: str = "") -> str:  # noqa: ANN401 - JSON values
    """JSON with a line for each label, and for each row of a table, which may hold tables itself."""
    deeper = indent + "  "
    if isinstance(value, dict) and (not indent or any(map(is_table, value.values()))):
        lines = [f"{json.dumps(label)}: {as_text(part, deeper)}" for label, part in value.items()]
        return "{\n" + ",\n".join(f"{deeper}{line}" for line in lines) + f"\n{indent}}}"
    if is_table(value):
        return "[\n" + ",\n".join(f"{deeper}{as_text(row, deeper)}" for row in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def is_table(value: object) -> bool:
    """Whether a value is a list of rows."""
    return isinstance(value, list) and any(isinstance(row, dict) for row in value)


def rounded(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """The value with all figures rounded to some significant digits; whole figures are whole numbers."""
    if isinstance(value, dict):
        return {label: rounded(part) for label, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float) and math.isfinite(value):
        shorter = float(f"{value:.{DIGITS}g}")
        return int(shorter) if shorter.is_integer() else shorter
    return value


def differences(case: Case, labels: dict[str, Any]) -> str:
    """How labels differ from the expected file, and how to rewrite it; empty: they do not."""
    path = path_of(case)
    if not path.is_file():
        return f"{path} is missing; write it: {rewriting(case)}"
    return differences_from(json.loads(path.read_text(encoding="utf-8")), case, labels)


def differences_from(saved: dict[str, Any], case: Case, labels: dict[str, Any]) -> str:
    """A line for each label whose value is not the saved one, and how to rewrite the file; empty: there is none."""
    expected, found = dict(flat(saved)), dict(flat(rounded(labels)))
    lines = [
        f"  {label}: expected {expected.get(label, MISSING)!r}, found {found.get(label, MISSING)!r}"
        for label in expected | found
        if not is_same(expected.get(label, MISSING), found.get(label, MISSING))
    ]
    if not lines:
        return ""
    more = [f"  … and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    head = f"{case.command}/{case.name}: {len(lines)} of {len(expected | found)} values differ"
    tail = f"If that is meant, say why in the commit, and rewrite: {rewriting(case)}"
    return "\n".join([head, *lines[:MOST_LINES], *more, tail])


def rewriting(case: Case) -> str:
    return f"python -m tests.outcomes --write {case.command}/{case.name}"


def is_same(expected: object, found: object) -> bool:
    if isinstance(expected, float) or isinstance(found, float):
        numbers = isinstance(expected, int | float) and isinstance(found, int | float)
        # Two values on the two sides of a rounding differ by one in the last digit.
        return numbers and math.isclose(expected, found, rel_tol=2 * 10.0 ** (1 - DIGITS), abs_tol=1e-12)  # type: ignore[arg-type]
    return type(expected) is type(found) and expected == found


def flat(value: Any, label: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON values
    """Yields the name and value of each figure; a row of a list is called by its first cell."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from flat(part, f"{label}.{name}" if label else name)
    elif is_table(value):
        yield f"{label}: rows", len(value)
        for place, row in enumerate(value):
            name, cell = next(iter(row.items()))
            # Rows that are called alike are told apart by their places.
            twins = sum(1 for other in value[:place] if other.get(name) == cell)
            yield from flat(row, f"{label}[{name} {cell}{f' #{twins + 1}' if twins else ''}]")
    else:
        yield label, value
