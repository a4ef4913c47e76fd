"""Tests of `shunter.workloads.machines`."""
