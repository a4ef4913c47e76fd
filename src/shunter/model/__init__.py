"""Jobs, workloads, clusters and schedules: tables and their checks."""
