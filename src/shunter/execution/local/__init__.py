"""The backend ``local``: a queue of commands on this machine. ``docs/queue.md`` says what it promises and how."""
