"""Tests beside an emulated LSF, and of what LSF prints."""
