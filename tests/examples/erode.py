# SPDX-License-Identifier: BSD-2-Clause
"""Every erode example gives what the definition of erosion gives, and refuses bad input.

usage: erode.py EXAMPLE... (a program, or a Python file)
"""
import os
import random
import subprocess
import sys
import tempfile


def run(example, *args, **variables):
    python = [sys.executable] if example.endswith(".py") else []
    return subprocess.run([*python, example, *map(str, args)], capture_output=True, text=True,
                          timeout=60, env={**os.environ, **variables})


def netpbm(width, height, pixels):
    kind = 6 if len(pixels) == 3 * width * height else 5
    return b"P%d\n%d %d\n255\n" % (kind, width, height) + bytes(pixels)


def eroded(width, height, channels, pixels, radius):
    """Minimum over the part of the square that lies inside the picture."""
    out = bytearray(len(pixels))
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[(y * width + x) * channels + c] = min(
                    pixels[(v * width + u) * channels + c]
                    for v in range(max(0, y - radius), min(height, y + radius + 1))
                    for u in range(max(0, x - radius), min(width, x + radius + 1)))
    return out


def check_picture(example, folder, width, height, channels, radius):
    pixels = random.Random(f"{width} {height} {radius}").randbytes(width * height * channels)
    source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
    with open(source, "wb") as file:
        file.write(netpbm(width, height, pixels))
    # A GPU, where there is one, takes a while to wake: one size is enough for it.
    hidden = {} if (width, height) == (31, 17) else {"CUDA_VISIBLE_DEVICES": ""}
    result = run(example, radius, source, target, **hidden)
    assert result.returncode == 0, result.stderr
    with open(target, "rb") as file:
        got = file.read()
    want = netpbm(width, height, eroded(width, height, channels, pixels, radius))
    assert got == want, f"{width}x{height}x{channels} radius {radius} differs"
    os.remove(target)


def assert_said(result, *words):
    """An error in one line, after the usage if there is one, that has these words."""
    assert result.returncode in (1, 2), f"exit {result.returncode}: {result.stderr}"
    said = [line for line in result.stderr.splitlines() if not line.startswith("usage:")]
    assert len(said) == 1, f"not one line: {result.stderr}"
    for word in words:
        assert word in said[0], f"{word!r} is not in: {said[0]}"


def check_refused(example, folder, content, radius, *words):
    source, target = os.path.join(folder, "bad"), os.path.join(folder, "out")
    if content is None:
        source = os.path.join(folder, "missing")
    else:
        with open(source, "wb") as file:
            file.write(content)
    assert_said(run(example, radius, source, target), *words)
    assert not os.path.exists(target), "a file was written in spite of the error"


def check_drawn(example, folder):
    """Without a picture the C program draws one; radius 0 shows it as it is."""
    pictures = []
    for radius in 0, 2:
        target = os.path.join(folder, "out")
        result = run(example, radius, target)
        assert result.returncode == 0, result.stderr
        with open(target, "rb") as file:
            header, pixels = [file.readline() for _ in range(3)], file.read()
        assert header == [b"P5\n", b"160 120\n", b"255\n"], header
        pictures.append(pixels)
    assert len(set(pictures[0])) == 2, "no discs were drawn"
    assert pictures[1] == eroded(160, 120, 1, pictures[0], 2)


def check_no_library(example, folder):
    with open(os.path.join(folder, "libgpuvision.so.1"), "wb"):
        pass
    assert_said(run(example, 1, "in", "out", LD_LIBRARY_PATH=folder),
                "libgpuvision.so.1 not found", "meson devenv")


def main():
    for example in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            for width, height in (1, 1), (1, 7), (13, 1), (31, 17), (64, 3):
                for channels in 1, 3:
                    for radius in 0, 1, 3, 20:
                        check_picture(example, folder, width, height, channels, radius)
            good = netpbm(4, 3, bytes(12))
            check_refused(example, folder, good, 256, "radius", "256", "255")
            check_refused(example, folder, good, -2, "radius", "-2")
            check_refused(example, folder, good, "abc", "radius", "abc")
            check_refused(example, folder, good, "3x", "radius", "3x")
            check_refused(example, folder, good, "", "radius")
            check_refused(example, folder, good[:-1], 1)
            check_refused(example, folder, netpbm(0, 3, b""), 1)
            check_refused(example, folder, netpbm(32768, 1, bytes(32768)), 1)
            check_refused(example, folder, b"P2\n1 1\n255\n0\n", 1, "binary")
            check_refused(example, folder, b"", 1, "binary")
            if example.endswith(".py"):
                check_refused(example, folder, None, 1, "No such file", "missing")
                check_no_library(example, folder)
            else:
                check_refused(example, folder, None, 1, "missing", "cannot be opened")
                check_drawn(example, folder)
        print(f"{os.path.basename(example)}: ok")


main()
