"""The service, over real connections."""
