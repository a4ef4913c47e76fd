"""Schedules drawn by hand; the reference simulator and the core must both give them."""
