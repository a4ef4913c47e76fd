"""An emulation of LSF's programs over the local clock, for tests: it was written from LSF's manual, not from LSF.

One state in a file, under a lock; each program brings it up to the present, does its work, and writes it back. So jobs
end and start at their own times though nobody runs in between. ``python -m tests.execution.lsf.emulated_lsf PROGRAM``.
"""
