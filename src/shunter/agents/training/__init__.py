"""One training: its options, its data, its loop, its checkpoints, and what came of it."""
