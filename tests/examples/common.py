# SPDX-License-Identifier: BSD-2-Clause
"""Running an example as a reader would: with pictures in files, and with bad input."""
import os
import subprocess
import sys

# ./dev gpu tests what computes on a GPU. The rest has been tested where there is none.
ON_GPU = "GPV_TEST_GPU" in os.environ


def run(example, *args, **variables):
    python = [sys.executable] if example.endswith(".py") else []
    return subprocess.run([*python, example, *map(str, args)], capture_output=True, text=True,
                          timeout=60, env={**os.environ, **variables})


def netpbm(width, height, pixels):
    kind = 6 if len(pixels) == 3 * width * height else 5
    return b"P%d\n%d %d\n255\n" % (kind, width, height) + bytes(pixels)


def result_of(example, folder, source, *args, **variables):
    """The picture that an example makes of one, and what it prints."""
    path, target = os.path.join(folder, "in"), os.path.join(folder, "out")
    with open(path, "wb") as file:
        file.write(source)
    result = run(example, *args, path, target, **variables)
    assert result.returncode == 0, result.stderr
    with open(target, "rb") as file:
        picture = file.read()
    os.remove(target)
    return picture, result.stdout


def assert_said(result, *words):
    """An error in one line, after the usage if there is one, that has these words."""
    assert result.returncode in (1, 2), f"exit {result.returncode}: {result.stderr}"
    said = [line for line in result.stderr.splitlines() if not line.startswith("usage:")]
    assert len(said) == 1, f"not one line: {result.stderr}"
    for word in words:
        assert word in said[0], f"{word!r} is not in: {said[0]}"


def check_refused(example, folder, content, args, *words, after=()):
    """With the arguments before the picture, and those after it."""
    if ON_GPU:
        return
    source, target = os.path.join(folder, "bad"), os.path.join(folder, "out")
    if content is None:
        source = os.path.join(folder, "missing")
    else:
        with open(source, "wb") as file:
            file.write(content)
    assert_said(run(example, *args, source, *after, target), *words)
    assert not os.path.exists(target), "a file was written in spite of the error"


def check_kept(example, folder, args, after):
    """A picture is read and not written, whether it is named twice or nothing else is."""
    if ON_GPU:
        return
    source, content = os.path.join(folder, "mine"), netpbm(4, 3, bytes(range(12)))
    with open(source, "wb") as file:
        file.write(content)
    for last in [source], []:
        result = run(example, *args, source, *after, *last)
        assert result.returncode != 0 and result.stderr + result.stdout, f"{last}: {result}"
        with open(source, "rb") as file:
            assert file.read() == content, f"the picture was overwritten: {last}"


def check_bad_files(example, folder, args, after=()):
    """Whatever is wrong with the picture, or with the library."""
    if ON_GPU:
        return
    check_refused(example, folder, netpbm(4, 3, bytes(11)), args, after=after)
    check_refused(example, folder, netpbm(0, 3, b""), args, after=after)
    check_refused(example, folder, netpbm(32768, 1, bytes(32768)), args, after=after)
    check_refused(example, folder, b"P2\n1 1\n255\n0\n", args, "binary", after=after)
    check_refused(example, folder, b"", args, "binary", after=after)
    check_refused(example, folder, None, args, "missing", "cannot be opened", after=after)
    check_kept(example, folder, args, after)
    if example.endswith(".py"):
        source = os.path.join(folder, "in")
        with open(source, "wb") as file:
            file.write(netpbm(4, 3, bytes(12)))
        with open(os.path.join(folder, "libgpuvision.so.1"), "wb"):
            pass
        assert_said(run(example, *args, source, *after, "out", LD_LIBRARY_PATH=folder),
                    "libgpuvision.so.1 not found", "meson devenv")
