"""One file a log format."""
