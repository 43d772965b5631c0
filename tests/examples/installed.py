# SPDX-License-Identifier: BSD-2-Clause
"""What is installed is enough: the C example builds with pkg-config, the Python example and
GStreamer find the library.

usage: installed.py MESON BUILD-FOLDER EXAMPLES-FOLDER CC...
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, **variables):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **{k: str(v) for k, v in variables.items()}})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def only(paths):
    found = list(paths)
    assert len(found) == 1, f"not one file but {found}"
    return found[0]


def main():
    meson, build, examples, *cc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        root, program = Path(folder, "root"), Path(folder, "erode")
        run(meson, "install", "-C", build, "--no-rebuild", "--destdir", root)
        flags = run("pkg-config", "--cflags", "--libs", "gpuvision",
                    PKG_CONFIG_PATH=only(root.rglob("gpuvision.pc")).parent,
                    PKG_CONFIG_SYSROOT_DIR=root).split()
        run(*cc, Path(examples, "erode.c"), "-o", program, *flags)
        library = only(root.rglob("libgpuvision.so.1"))
        plugins = [path.parent for path in root.rglob("libgstgpuvision.so")]
        where = {"LD_LIBRARY_PATH": library.parent}
        drawn, eroded, again = (Path(folder, name) for name in ("drawn", "eroded", "again"))
        run(program, 0, drawn, **where)
        run(program, 3, drawn, eroded, **where)
        run(sys.executable, Path(examples, "python/erode.py"), 3, drawn, again, **where)
        assert drawn.read_bytes() != eroded.read_bytes() == again.read_bytes()
        if plugins and shutil.which("gst-inspect-1.0"):
            run("gst-inspect-1.0", "gpuerode", GST_PLUGIN_PATH=only(plugins),
                GST_REGISTRY=Path(folder, "registry"), **where)
    print("ok")


main()
