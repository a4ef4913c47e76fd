"""Results of twelve commands, saved as figures and schedules under fixed labels, so that a rebuild cannot change them.

``python -m tests.outcomes --write [case ...]`` rewrites ``expected/`` (all cases, or those whose names begin so).
Where a value is meant to change, the commit that rewrites it says why.
"""
