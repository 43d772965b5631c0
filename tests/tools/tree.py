# SPDX-License-Identifier: BSD-2-Clause
"""The files of the project, without those that are built or left over."""
import re
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# As .gitignore has it.
BUILT = re.compile(r"(build|obj-)[^/]*/|(\.git|\.cache|guide|out)/|libgpuvision/bindings/(python/build|rust/target)/|"
                   r".*\.egg-info/|"
                   r"debian/(\.debhelper/|tmp/|files$|lib\w+(-\w+)?/|gstreamer1.0-gpuvision/|.*(-stamp|\.substvars)$)")


def git(*args):
    """The finished command, or None where there is no git or no repository."""
    if not shutil.which("git") or not (TOP / ".git").exists():  # one around it may ignore our files
        return None
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, *args], text=True,
                          capture_output=True)
    return done if done.returncode == 0 else None


def files(*folders, new=False):
    """Those that git tracks, with those that are new in the folders where wanted; or everything outside
    build folders where there is no git."""
    others = ["--others", "--exclude-standard"] if new else []
    listed = git("ls-files", "-z", "--cached", *others, "--", *folders)
    if listed and listed.stdout:
        paths = {TOP / name for name in listed.stdout.split("\0") if name}
    else:
        paths = [path for folder in folders or ["."] for path in (TOP / folder).rglob("*")
                 if not BUILT.match(str(path.relative_to(TOP)))]
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def untracked():
    """What git neither tracks nor ignores; a folder without a tracked file is one name."""
    listed = git("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
    return listed.stdout.splitlines() if listed else []


def version():
    """Of the release, as meson.build has it."""
    return re.search(r"^  version: '(.*)'", (TOP / "meson.build").read_text(encoding="utf-8"), re.M)[1]
