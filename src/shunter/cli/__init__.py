"""The command line: one file a verb, and what verbs share (commands, options, running, outputs)."""

from __future__ import annotations

from shunter.cli.commands import app, main

__all__ = ["app", "main"]
