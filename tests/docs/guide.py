# SPDX-License-Identifier: BSD-2-Clause
"""Does what a page tells its reader to do, from the first block to the last, with the installed library.

A block below a line that ends with `NAME`: is a file of that name. A block of sh is run, and fails if one
of its commands does; a block of text that follows it is what it prints, where … is anything in a line, and
a line of it alone is any lines. Left out are blocks below

    <!-- not run: why -->       files are of C, and compiled where the CUDA toolkit is
    <!-- skipped without X -->  where X is no program, no module of Python and no installed file

cc, as the page calls it, is the compiler of the build, with warnings as errors. The folder of the sources
is the one above.

usage: guide.py MESON BUILD-FOLDER PAGE CC...
"""
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown

sys.path.insert(0, str(markdown.TOP / "tests/tools"))
from staged import staged

SKIPPED = re.compile(r"<!-- skipped without (.+) -->")


def files_in(root):
    return {path.name: path.parent for path in root.rglob("*") if path.is_file() or path.is_symlink()}


def program(path, *words):
    words = " ".join(shlex.quote(str(word)) for word in words)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)


def environment(folder, root, where, cc):
    """As after an installation: everything is found where it is."""
    programs = folder / "bin"
    programs.mkdir()
    # A link to ccache looks for the compiler along PATH, where this one comes first.
    program(programs / "cc", "env", f"PATH={os.environ['PATH']}",
            *(shutil.which(word) or word for word in cc), "-Wall", "-Wextra", "-Werror")
    program(programs / "python3", sys.executable)
    values = {"PATH": f"{programs}:{os.environ['PATH']}", "PKG_CONFIG_PATH": where["gpuvision.pc"],
              "PKG_CONFIG_SYSROOT_DIR": root, "LD_LIBRARY_PATH": where["libgpuvision.so.1"],
              "GST_PLUGIN_PATH": where.get("libgstgpuvision.so", ""),
              "GST_REGISTRY": folder / "registry"}
    env = {**os.environ, **{name: str(value) for name, value in values.items()}}
    for name in ("CC", "CFLAGS", "LDFLAGS", "MAKEFLAGS"):
        env.pop(name, None)
    return env


def lacks(block, where):
    for comment in block.comments:
        if match := SKIPPED.fullmatch(comment):
            name = match[1]
            if not (shutil.which(name) or name in where or importlib.util.find_spec(name)):
                return name
    return None


def check_compiles(path, env):
    """Where the toolkit's headers are, which are what a block that needs a GPU includes."""
    nvcc = shutil.which("nvcc", path=f"{env['PATH']}:/usr/local/cuda/bin")
    if not nvcc:
        return "not run, nor compiled: there is no nvcc"
    flags = f"-isystem {Path(nvcc).resolve().parents[1] / 'include'} $(pkg-config --cflags gpuvision)"
    if subprocess.run(["sh", "-ec", f"cc -fsyntax-only {flags} {path.name}"], cwd=path.parent,
                      env=env).returncode:
        sys.exit(f"{path.name} does not compile")
    return "not run, but compiled"


def follow(blocks, where, sources, env):
    counts = {"files": 0, "runs": 0, "outputs": 0}
    printed = None  # by the block before, if that was run
    for block in blocks:
        before, printed = printed, None
        if block.file:
            path = sources / "guide" / block.file
            path.write_text(block.text)
            counts["files"] += 1
            if block.not_run:
                print(f"{block}: {check_compiles(path, env)}", flush=True)
        elif block.not_run:
            print(f"{block}: not run")
        elif name := lacks(block, where):
            print(f"{block}: skipped without {name}")
        elif block.language == "sh":
            print(f"{block}: {block.text}", end="", flush=True)
            done = subprocess.run(["sh", "-ec", block.text], cwd=sources / "guide", env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = done.stdout
            if done.returncode:
                sys.exit(f"{block}: exit status {done.returncode}:\n{printed}")
            counts["runs"] += 1
        elif block.language != "text":
            sys.exit(f"{block} is no file, and neither sh nor text")
        elif before is not None:
            markdown.check_printed(block, block.text, before)
            counts["outputs"] += 1
    assert all(counts.values()), counts
    print(*(f"{count} {name}" for name, count in counts.items()), sep=", ")


def main():
    meson, build, page, *cc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        root, sources = folder / "root", folder / "sources"
        (sources / "guide").mkdir(parents=True)
        for name in ("examples", "libgpuvision", "tests"):
            (sources / name).symlink_to(markdown.TOP / name)
        with staged(meson, build, root):
            where = files_in(root)
            follow(markdown.blocks(page), where, sources, environment(folder, root, where, cc))


main()
