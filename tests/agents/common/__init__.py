"""Tests of `shunter.agents.common`."""
