"""Every error a user may see.

MeltlineError
├── UserError              the configuration or the set-up is wrong; exit code 2, no traceback
│   ├── ConfigError        a place in a pipeline file is wrong
│   └── ConfigurationChanged  it is not the one that a half-published epoch began with
└── RunError               something failed while running; exit code 1, no traceback
    ├── Retryable          the same step may be tried again and may then succeed
    │   ├── CommitConflict another writer changed the table between our look and our commit
    │   │   └── BaseMoved  so much that what we want to commit must be worked out again
    │   └── CommitUnknown  the catalog did not say whether the commit happened
    ├── Fenced             a newer driver owns the pipeline; this one must stop
    ├── EventsRejected     events were refused and nothing says where to put them
    └── PositionLost       the place where reading stopped no longer exists
        └── PlanLost       what an epoch was to read is gone, and another plan may do

Anything else that escapes is a bug of ours and shows its traceback.
"""

from __future__ import annotations


class MeltlineError(Exception):
    """`what` happened, `at` which place, and a `hint` on what to do about it."""

    exit_code = 1

    def __init__(self, what: str, *, at: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.at = at
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.at:
            lines.append(f"   at: {self.at}")
        if self.hint:
            lines.append(f" hint: {self.hint}")
        return "\n".join(lines)


class UserError(MeltlineError):
    exit_code = 2


class ConfigError(UserError):
    """A place in a pipeline file is wrong. `at` is `file:line path.in.document`."""


class ConfigurationChanged(UserError):
    """An epoch is published in part, and this configuration would make something else of it."""


class RunError(MeltlineError):
    exit_code = 1


class Retryable(RunError):
    """The engine may run the same step again."""


class CommitConflict(Retryable):
    """The table moved between our look and our commit."""


class BaseMoved(CommitConflict):
    """Another writer touched what the change was computed from: look again, then commit."""


class CommitUnknown(Retryable):
    """The catalog did not say whether the commit happened."""


class Fenced(RunError):
    """A newer driver took over the pipeline; nothing of this one may be written any more."""


class EventsRejected(RunError):
    """Events were refused, and neither a dead-letter target nor `on_error: drop` is set."""


class PositionLost(RunError):
    """The recorded position cannot be read on from."""


class PlanLost(PositionLost):
    """What a recorded plan was to read is gone for good; the position may lead to another plan."""
