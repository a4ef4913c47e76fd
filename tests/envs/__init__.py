"""Tests of `shunter.envs`."""
