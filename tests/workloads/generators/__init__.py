"""Tests of `shunter.workloads.generators`."""
