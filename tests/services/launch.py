"""Becomes another program that dies with its parent: PARENT SIGNAL UID GID COMMAND...

Run as a script between fork and exec. It replaces ``preexec_fn``, which is unsafe in a process
with threads. UID and GID are -1 to keep the present account.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    """Drop privileges, tie our life to the parent's, and exec the command."""
    parent, death_signal, uid, gid = (int(word) for word in argv[:4])
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # after setuid: the kernel forgets the death signal when credentials change
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(death_signal)) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        sys.exit("the parent died before the command was started")
    os.execvp(argv[4], argv[4:])


if __name__ == "__main__":
    main(sys.argv[1:])
