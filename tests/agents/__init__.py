"""Tests of `shunter.agents`."""
