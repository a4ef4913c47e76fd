"""Tests of `shunter.agents.inspection`."""
