# SPDX-License-Identifier: BSD-2-Clause
"""What is installed is enough: the C examples build with pkg-config, the Python examples, a Python
package that pip has installed, and GStreamer find the library.

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


def check_pip(folder, sources, where):
    """Of a copy: setuptools leaves files beside what it installs."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        print("skipped: pip install: there is no pip")
        return
    copy, site = Path(folder, "copy"), Path(folder, "site")
    shutil.copytree(sources, copy)
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
        "--target", site, copy)
    shutil.rmtree(copy)
    said = run(sys.executable, "-c", "import gpuvision; print(gpuvision.__file__); "
               "print(gpuvision.Context('cpu'))", PYTHONPATH=site, **where).split()
    assert Path(said[0]) == site / "gpuvision/__init__.py" and "CPU" in said, said
    assert (site / "gpuvision/py.typed").exists()


def main():
    meson, build, examples, *cc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        run(meson, "install", "-C", build, "--no-rebuild", "--destdir", root)
        flags = run("pkg-config", "--cflags", "--libs", "gpuvision",
                    PKG_CONFIG_PATH=only(root.rglob("gpuvision.pc")).parent,
                    PKG_CONFIG_SYSROOT_DIR=root).split()
        library = only(root.rglob("libgpuvision.so.1"))
        plugins = [path.parent for path in root.rglob("libgstgpuvision.so")]
        where = {"LD_LIBRARY_PATH": library.parent}
        scene = Path(folder, "scene")
        for stem, args, picture in (("erode", [3], "drawn"), ("ccl", [128, 100], "drawn"),
                                    ("graphcut", [2], "drawn"), ("kmeans", [3], "ccl-by-c"),
                                    ("match", [scene], "scene"), ("segment", [1], "drawn"),
                                    ("sift", [0], "drawn")):
            program, source, by_c, by_python = (
                Path(folder, name) for name in (stem, picture, f"{stem}-by-c", "by-python"))
            run(*cc, Path(examples, f"{stem}.c"), "-o", program, *flags, "-lm")
            if stem == "erode":
                run(program, 0, source, **where)
            if stem == "match":
                run(program, scene, **where)
            run(program, *args, source, by_c, **where)
            run(sys.executable, Path(examples, f"python/{stem}.py"), *args, source, by_python, **where)
            assert source.read_bytes() != by_c.read_bytes() == by_python.read_bytes(), stem
        check_pip(folder, Path(examples, "python"), where)
        if plugins and shutil.which("gst-inspect-1.0"):
            said = run("gst-inspect-1.0", "gpuerode", GST_PLUGIN_PATH=only(plugins),
                       GST_PRESET_PATH=only(root.rglob("GstGpuErode.prs")).parent,
                       GST_REGISTRY=Path(folder, "registry"), **where)
            assert '"remove-specks"' in said, said
    print("ok")


main()
