"""Engines that are not ours and not Java, reading the tables we write.

Each is one pinned set of packages in a directory of its own and runs as a process of its own, so
that neither its libraries nor its faults meet ours. `read` in `readers.py` is the one door.
"""
