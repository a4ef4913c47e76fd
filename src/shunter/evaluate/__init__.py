"""Metrics and figures of schedules."""
