"""Locks on open files: they go with the process that holds them, even when it is killed."""

from __future__ import annotations

import errno
import os
import sys
import time

_PAUSE = 0.2  # seconds between two tries to take a lock
_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


def lock(descriptor: int, wait: bool) -> bool:
    """Take the lock of an open file; return whether it is taken, or another process has it.

    Any other `OSError` says that this disk has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                os.lseek(descriptor, 0, os.SEEK_SET)  # a byte is locked there, the one that is next
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                if not wait:
                    return False
                time.sleep(_PAUSE)
            else:
                return True
    else:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            if wait or error.errno not in _TAKEN:
                raise
            return False
        return True


def unlock(descriptor: int) -> None:
    """Give the lock of an open file back."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
