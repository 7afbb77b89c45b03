"""Files of a folder that somebody else may have filled: a pipe would keep us waiting, a link leads elsewhere, a device
has no end. Only plain files are opened, and only as far as the caller has room for.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_HARMLESS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_plain(path: Path) -> BinaryIO:
    """The file, opened for reading, if it is a plain one; raises OSError for a link, a folder, a pipe or a device."""
    file = os.open(path, os.O_RDONLY | _HARMLESS)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise OSError(errno.EINVAL, "is not a plain file", str(path))


def read_plain(path: Path, max_bytes: int) -> bytes:
    """All of a plain file; raises OSError when it is none, or longer than `max_bytes`."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(max_bytes + 1) if size <= max_bytes else b""
    if size > max_bytes or len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"has {max(size, len(data))} bytes, the limit is {max_bytes}", str(path))
    return data


def read_end(path: Path, max_bytes: int) -> bytes:
    """The last `max_bytes` of a plain file that may be longer; raises OSError when it is none."""
    with open_plain(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
        return file.read(max_bytes)
