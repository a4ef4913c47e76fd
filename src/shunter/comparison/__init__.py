"""Many ways to schedule on the same windows of a log."""
