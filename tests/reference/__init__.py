"""The slow, obvious simulator, written from docs/simulation.md alone; the fast core is held to it."""
