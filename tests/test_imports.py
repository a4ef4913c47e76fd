"""Importing Shunter is cheap: what is heavy is loaded by what needs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "matplotlib", "numpy", "polars"}


@pytest.mark.parametrize("module", ["shunter", "shunter.cli", "shunter.simulation", "shunter.policies.catalog"])
def test_imports_nothing_heavy(module: str) -> None:
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert module in loaded
    assert loaded.isdisjoint(HEAVY)


def test_importing_a_name_brings_what_it_needs_and_no_more() -> None:
    script = "import sys; from shunter import Workload; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "polars" in loaded
    assert loaded.isdisjoint({"torch", "matplotlib"})


@pytest.mark.parametrize("name", ["Placer", "Scene"])
def test_a_placement_of_ones_own_needs_little(name: str) -> None:
    script = f"import sys; from shunter import {name}; print({name}.__module__, *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    home, *loaded = done.stdout.split()
    assert home == "shunter.policies.own"
    assert set(loaded).isdisjoint({"torch", "matplotlib", "highspy", "polars"})


def test_help_imports_nothing_heavy() -> None:
    script = "import sys; from shunter.cli import app; \ntry: app(['--help'])\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *text, loaded = done.stdout.splitlines()
    assert "simulate" in "".join(text)
    assert set(loaded.split()).isdisjoint(HEAVY)


@pytest.mark.parametrize("verb", ["submit", "list", "cancel", "status"])
def test_a_client_of_a_queue_imports_little(verb: str, tmp_path: Path) -> None:
    """A client is a process of some milliseconds; ``benchmarks/startup.py`` measures how many."""
    word = {"list": "--all", "status": "--json"}.get(verb, "1")
    words = ["queue", verb, "--queue", f"{tmp_path}/none", word]
    script = f"import sys; from shunter.cli import app\ntry: app({words})\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "its daemon is not running" in done.stderr
    loaded = set(done.stdout.split())
    # Those of the standard library cost as much as all of ours together.
    slow = {"asyncio", "difflib", "email", "importlib.metadata", "sqlite3", "subprocess", "textwrap"}
    assert loaded.isdisjoint(HEAVY | {"rich", "typer", "pydantic", "cffi", "shunter._core"} | slow)
    ours = {name for name in loaded if name.startswith("shunter.cli.queue_")}
    home = {"submit": "submit", "list": "looking", "cancel": "changing", "status": "daemon"}[verb]
    assert ours == {"shunter.cli.queue_options", f"shunter.cli.queue_{home}"}


def test_help_of_the_module() -> None:
    done = subprocess.run([sys.executable, "-m", "shunter", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "simulate" in done.stdout
