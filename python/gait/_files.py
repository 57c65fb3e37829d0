# SPDX-License-Identifier: Apache-2.0
"""Files under names that gait chose: others may write to the folder, too, and put a link there."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def draft(path: str, is_made: bool = True) -> Iterator[str]:
    """A file beside `path` whose name nobody can guess; it replaces `path`, a link as well, when
    the block ends well. The block makes it where `is_made` is false."""
    part = f"{path}.{os.urandom(8).hex()}.part"
    try:
        if is_made:
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield part
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def through_no_link(path: str, flags: int) -> int:
    """An opener for open(): of files that grow."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
