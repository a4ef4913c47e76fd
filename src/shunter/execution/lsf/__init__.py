"""What is LSF's own: its programs, what they print, and the commands that change a job."""
