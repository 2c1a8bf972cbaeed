"""Real servers for the tests, each on free loopback ports and gone when the tests are.

Every service module has the same three doors: ``prepare()`` downloads or builds what the server
needs and may be repeated, ``start_x(workdir)`` returns once the server answers, and the returned
value names its endpoints and has an idempotent ``stop()``.
"""
