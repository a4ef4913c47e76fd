"""Policies, estimates and placements by name."""
