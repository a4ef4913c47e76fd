"""Tests of `shunter.workloads`."""
