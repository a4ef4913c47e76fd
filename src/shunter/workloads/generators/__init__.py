"""Workloads that are drawn, by name."""
