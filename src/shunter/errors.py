"""The errors that Shunter raises for what a user can mend."""


class ShunterError(Exception):
    """Anything that Shunter reports in one line instead of a traceback."""


class InputError(ShunterError, ValueError):
    """Bad input: the message names what, where, which value, and what to do."""
