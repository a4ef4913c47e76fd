"""Beside a scheduler, without one."""
