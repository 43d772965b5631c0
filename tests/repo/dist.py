# SPDX-License-Identifier: BSD-2-Clause
"""The archive of the source has what git tracks, and nothing that its user has put beside it."""
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

if not shutil.which("git"):
    print("skipped: there is no git")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    top, sources = Path(folder, "tree"), Path(sys.argv[1])
    tracked = ["meson.build", "tests/tools/dist.py", "tests/tools/tree.py"]
    for name in tracked:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sources / name, top / name)
    subprocess.run(["git", "init", "-q", top], check=True)
    subprocess.run(["git", "-C", top, "add", "."], check=True)
    mine = ["photo.ppm", "notes/first.c"]
    for name in mine:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("mine")
    said = subprocess.run([sys.executable, top / "tests/tools/dist.py", Path(folder, "dist")], check=True,
                          text=True, capture_output=True).stdout
    archive, = Path(folder, "dist").glob("*.tar.xz")
    with tarfile.open(archive) as tar:
        names = [name.partition("/")[2] for name in tar.getnames()]
    assert names == tracked, f"the archive has {names}"
    for name in "photo.ppm", "notes/":
        assert f"not in the archive: {name}\n" in said, said
print("ok")
