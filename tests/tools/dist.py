# SPDX-License-Identifier: BSD-2-Clause
"""The source as an archive, and a wrap by which Meson takes it as a subproject.

usage: dist.py FOLDER [URL]

FOLDER gets gpuvision-VERSION.tar.xz, of the files that git tracks, and gpuvision.wrap, for the folder
subprojects of a project. Other files, which are yours or not added yet, are named and left out. URL is the
folder on the web where the archive will be; without it, the wrap names the archive in FOLDER. The same files
give the same bytes.
"""
import hashlib
import sys
import tarfile
from pathlib import Path

from tree import TOP, files, untracked, version

WRAP = """[wrap-file]
directory = {name}
source_url = {url}/{name}.tar.xz
source_filename = {name}.tar.xz
source_hash = {hash}

[provide]
dependency_names = gpuvision
"""


DATE = 946684800  # 2000-01-01, in seconds since 1970, of which packages have to be a few years away


def plain(member):
    """Without what differs from one machine to the next."""
    member.uid, member.gid, member.mtime = 0, 0, DATE
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    return member


def main():
    folder = Path(sys.argv[1]).resolve()
    url = sys.argv[2].rstrip("/") if len(sys.argv) > 2 else folder.as_uri()
    name = f"gpuvision-{version()}"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name}.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for path in files():
            tar.add(path, f"{name}/{path.relative_to(TOP)}", filter=plain)
    wrap = folder / "gpuvision.wrap"
    wrap.write_text(WRAP.format(name=name, url=url, hash=hashlib.sha256(archive.read_bytes()).hexdigest()))
    print(archive, wrap, sep="\n")
    for name in untracked():
        print(f"not tracked by git, so not in the archive: {name}")


main()
