# SPDX-License-Identifier: BSD-2-Clause
"""What is installed is enough: the C examples build with pkg-config, the Python examples, a Python
package that pip has installed, and GStreamer find the library. When it is uninstalled, nothing is left.

usage: installed.py MESON BUILD-FOLDER EXAMPLES-FOLDER PYTHON-FOLDER CC...
       installed.py --prefix MESON BUILD-FOLDER PREFIX EXAMPLES-FOLDER PYTHON-FOLDER CC...

It installs into a DESTDIR of its own, or else into the prefix of the build, which must be empty.
PYTHON-FOLDER has the Python package.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from staged import staged

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "DESTDIR"}


def run(*command, **variables):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**ENVIRONMENT, **{k: str(v) for k, v in variables.items()}})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def only(paths):
    found = list(paths)
    assert len(found) == 1, f"not one file but {found}"
    return found[0]


def check_pip(folder, package, where):
    """Of a copy: setuptools leaves files beside what it installs."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        print("skipped: pip install: there is no pip")
        return
    copy, site = Path(folder, "copy"), Path(folder, "site")
    shutil.copytree(package, copy)
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
        "--target", site, copy)
    shutil.rmtree(copy)
    said = run(sys.executable, "-c", "import gpuvision; print(gpuvision.__file__); "
               "print(gpuvision.Context('cpu'))", PYTHONPATH=site, **where).split()
    assert Path(said[0]) == site / "gpuvision/__init__.py" and "CPU" in said, said
    assert (site / "gpuvision/py.typed").exists()


def check_examples(folder, examples, package, cc, flags, where):
    source = Path(examples, "../tests/gst/coffee.ppm")
    for stem, args in (("erode", [3]), ("ccl", [128, 100]), ("graphcut", [8]), ("kmeans", [3]),
                       ("match", [source]), ("segment", [1]), ("sift", [0])):
        program, by_c, by_python = (Path(folder, name) for name in (stem, f"{stem}-by-c", "by-python"))
        run(*cc, Path(examples, f"c/{stem}.c"), "-o", program, *flags, "-lm")
        run(program, *args, source, by_c, **where)
        run(sys.executable, Path(examples, f"python/{stem}.py"), *args, source, by_python, PYTHONPATH=package,
            **where)
        assert source.read_bytes() != by_c.read_bytes() == by_python.read_bytes(), stem


def check_elements(folder, plugins, presets, where):
    where = {**where, "GST_PLUGIN_PATH": plugins, "GST_PRESET_PATH": presets,
             "GST_REGISTRY": Path(folder, "registry")}
    said = run("gst-inspect-1.0", "gpuerode", **where)
    assert '"remove-specks"' in said, said
    said = run("gst-launch-1.0", "-m", *"videotestsrc num-buffers=3 pattern=ball ! gpuerode ! gpukmeans "
               "! gpusift ! gpugraphcut output=overlay ! gpuccl post-messages=true ! fakesink".split(), **where)
    assert said.count("(element): gpuccl, ") == 3, said


def check_removed(build, root):
    run("ninja", "-C", build, "uninstall")
    left = [str(path) for path in root.rglob("*")]
    assert not left, f"uninstalling has left {left}"


def use(folder, root, examples, package, cc, **pkg_config):
    flags = run("pkg-config", "--cflags", "--libs", "gpuvision",
                PKG_CONFIG_PATH=only(root.rglob("gpuvision.pc")).parent, **pkg_config).split()
    where = {"LD_LIBRARY_PATH": only(root.rglob("libgpuvision.so.1")).parent}
    check_examples(folder, examples, package, cc, flags, where)
    check_pip(folder, package, where)
    plugins = list(root.rglob("libgstgpuvision.so"))
    if plugins and shutil.which("gst-launch-1.0"):
        check_elements(folder, only(plugins).parent, only(root.rglob("GstGpuErode.prs")).parent, where)
    else:
        print("skipped: the elements: they are not built, or there is no gst-launch-1.0")


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1] == "--prefix":
            meson, build, prefix, examples, package, *cc = sys.argv[2:]
            root = Path(prefix).resolve()
            assert not root.exists(), f"{root} is there already"
            run(meson, "install", "-C", build, "--no-rebuild")
            assert list(root.rglob("libgstgpuvision.so")), "the elements are not installed"
            use(folder, root, examples, package, cc)
            check_removed(build, root)
        else:
            meson, build, examples, package, *cc = sys.argv[1:]
            root = Path(folder, "root")
            with staged(meson, build, root):
                use(folder, root, examples, package, cc, PKG_CONFIG_SYSROOT_DIR=root)
                check_removed(build, root)
    print("ok")


main()
