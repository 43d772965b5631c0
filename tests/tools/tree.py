# SPDX-License-Identifier: BSD-2-Clause
"""The files of the project, without those that are built or left over."""
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def git(*args):
    """The finished command, or None where there is no git or no repository."""
    if not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, *args], text=True,
                          capture_output=True)
    return done if done.returncode == 0 else None


def files(*folders):
    """Tracked and new files, or everything outside build folders where there is no git."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders)
    if listed and listed.stdout:
        paths = {TOP / name for name in listed.stdout.split("\0") if name}
    else:
        paths = [path for folder in folders or ["."] for path in (TOP / folder).rglob("*")
                 if not path.relative_to(TOP).parts[0].startswith(("build", "out", ".git", ".cache"))]
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)
