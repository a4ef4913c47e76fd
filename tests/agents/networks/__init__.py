"""Tests of `shunter.agents.networks`."""
