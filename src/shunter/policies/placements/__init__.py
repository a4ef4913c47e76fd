"""Placements that live in Python: by optimization, or a user's own."""
