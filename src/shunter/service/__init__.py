"""The decision service: HTTP in front of decisions, start times and explanations (docs/serving.md)."""
