"""What algorithms share: masks, returns, rollouts, units of values, schedules."""
