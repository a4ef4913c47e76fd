"""What a schedule is worth, and why."""
