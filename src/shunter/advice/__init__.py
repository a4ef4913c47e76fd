"""From a log to a decision: what to run, what it gains, who pays, how sure that is, and what to do next."""
