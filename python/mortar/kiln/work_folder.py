"""Kiln's folder under the temporary folder. It goes when Kiln ends.

A Kiln that is killed leaves its folder behind, and the next one removes it. Whether a folder's Kiln
lives is told by a lock on a file in it, which the system takes away with the process. Folders of
other users, of other names or without that file are left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "kiln-"
_LOCK = "kiln.lock"


@contextmanager
def locked_folder() -> Iterator[str]:
    """A folder of this process, after those of dead ones were removed."""
    _remove_dead()
    lock = None
    try:
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
            lock = _lock(Path(folder))
            yield folder
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int:
    """The file gets its name once it is locked: nobody shall find it and take the lock before. Where
    files can't be locked it gets none, and the folder of a killed Kiln stays."""
    new = folder / f"{_LOCK}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(folder / _LOCK)
    return lock


def _remove_dead() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is in use, or went away meanwhile
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
