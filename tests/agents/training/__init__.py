"""Tests of `shunter.agents.training`."""
