"""Many trainings as one experiment: several seeds, studies of logs and settings, and the search for settings."""
