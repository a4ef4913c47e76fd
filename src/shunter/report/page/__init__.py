"""The report as one page of HTML: what it is made of, what is on it, and how it is written."""
