"""What a learned policy looks at, how it decides, and whether it has collapsed."""
