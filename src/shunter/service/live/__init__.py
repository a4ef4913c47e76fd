"""The live page: sources that are read once for all who look, and what they tell as panels over server-sent events."""
