"""The layers hold: no module imports from a layer above its own, not even inside a function or for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import shunter

HOUSE = Path(shunter.__file__).parent
LAYERS = (
    *("(root)", "engines", "model", "workloads", "policies", "simulation", "metrics", "comparison", "envs", "tuning"),
    *("agents", "studies", "report", "advice", "execution", "service", "cli"),
)
"""The packages, lowest first; the modules beside them are the root."""
NOT_CODE = {"_core", "presets", "__pycache__"}


def layer(first: str) -> str:
    """Returns the layer of a folder or module directly below the package."""
    if (HOUSE / first).is_dir() and first not in NOT_CODE:
        return first
    # A name that the front door offers may come from any layer: whoever is inside imports it from its module.
    is_module = (HOUSE / first).exists() or (HOUSE / f"{first}.py").exists() or first == "__version__"
    assert is_module, f"shunter.{first} is offered to users; import it from the module that it is in"
    return "(root)"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the full name of what a file imports of Shunter, wherever in the file that stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports with dots; write the module's full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("shunter."))


def test_every_package_has_a_layer() -> None:
    unknown = {folder.name for folder in HOUSE.iterdir() if folder.is_dir()} - {*LAYERS, *NOT_CODE}
    assert not unknown, f"no layer is known for {unknown}; add it to LAYERS where it belongs"


def test_no_module_imports_from_a_higher_layer() -> None:
    upward = []
    for path in sorted(HOUSE.rglob("*.py")):
        inside = path.relative_to(HOUSE)
        # The front door offers everything to users.
        if str(inside) in ("__init__.py", "__main__.py") or inside.parts[0] in NOT_CODE:
            continue
        own = layer(inside.parts[0])
        for line, name in imports(path):
            target = layer(name.split(".")[1])
            if LAYERS.index(target) > LAYERS.index(own):
                upward.append(f"{inside}:{line}: {name} is in a layer above {own}")
    assert not upward, "\n".join(upward)
