"""Not written yet."""


def recognizes(source: object) -> bool:
    """Returns nothing yet."""
    return False
