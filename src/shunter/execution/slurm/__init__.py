"""What is Slurm's own: its programs, what they print, and the commands that change a job."""
