# SPDX-License-Identifier: BSD-2-Clause
"""A build, installed in a folder for a while."""
import contextlib
import fcntl
import subprocess
from pathlib import Path


@contextlib.contextmanager
def staged(meson, build, root):
    """Installs with a DESTDIR. What ninja uninstall goes by, of an installation of the user's, is kept."""
    log = Path(build, "meson-logs/install-log.txt")
    kept = log.with_suffix(".kept")
    with open(log.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time, until it is closed
        if log.exists():
            log.rename(kept)
        try:
            subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--destdir", root], check=True,
                           stdout=subprocess.DEVNULL)
            yield
        finally:
            log.unlink(missing_ok=True)
            if kept.exists():
                kept.rename(log)
