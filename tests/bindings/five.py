# SPDX-License-Identifier: BSD-2-Clause
"""The example `five` of one language says and writes what that of another does, to the byte, and
refuses bad input as it does. Where the other is a folder, it has the C examples, which do some of it.

usage: five.py EXAMPLE (a program, or a Python file) OTHER PICTURE
"""
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from common import ON_GPU, assert_said, check_bad_files, netpbm, run  # noqa: E402


def pictures(photograph):
    """(name, bytes of a file)"""
    yield "photograph", Path(photograph).read_bytes()
    if ON_GPU:
        return
    for width, height, channels in (1, 1, 1), (1, 1, 3), (37, 1, 3), (1, 23, 1), (131, 97, 1):
        noise = random.Random(width).randbytes(width * height * channels)
        yield f"{width}x{height}x{channels}", netpbm(width, height, noise)
    # More components than there are records at first, and more behind the last pixel.
    dots = bytes(255 * (x % 6 < 4 and y % 6 < 4) for y in range(300) for x in range(300))
    yield "dots", netpbm(300, 300, dots) + b"more"
    yield "black", b"P6 \n 40\t30\r\n255\n" + bytes(3 * 40 * 30)


def outputs(example, source, folder):
    """What it prints, and {name: bytes} of what it writes."""
    done = run(example, source, folder)
    assert done.returncode == 0, f"{example}: {done.stderr}"
    assert done.stderr == "", done.stderr
    return done.stdout, {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def check_same(example, other, folder, name, data):
    source = Path(folder, f"{name}.in")
    source.write_bytes(data)
    got, want = (outputs(program, source, Path(folder, f"{name}-{side}"))
                 for side, program in (("got", example), ("want", other)))
    assert got[0] == want[0], f"{name}: says\n{got[0]}for\n{want[0]}"
    assert len(want[1]) == 5 and sorted(got[1]) == sorted(want[1]), f"{name}: {sorted(got[1])}"
    for file in want[1]:
        assert got[1][file] == want[1][file], f"{name}: {file} differs"


def check_refused(example, folder):
    usage = run(example, "one")
    assert usage.returncode == 2 and usage.stderr == "usage: five PICTURE FOLDER\n", usage
    check_bad_files(example, folder, [])
    # Nothing is written where the folder cannot be made.
    source = Path(folder, "good")
    source.write_bytes(netpbm(4, 3, bytes(12)))
    assert_said(run(example, source, Path(folder, "no/where")), "where")
    assert not Path(folder, "no").exists()
    # Nor where it would be over the picture.
    own = Path(folder, "erode.ppm")
    own.write_bytes(netpbm(4, 3, bytes(36)))
    assert_said(run(example, own, folder), "erode.ppm", "name another folder")
    assert own.read_bytes() == netpbm(4, 3, bytes(36))
    twice = [outputs(example, source, Path(folder, "twice")) for _ in range(2)]
    assert twice[0] == twice[1], "it does not give the same again"


def check_with_c_examples(example, programs, folder, photograph):
    """Those that do the same."""
    said, files = outputs(example, photograph, Path(folder, "five"))
    width, height = map(int, said.split(" pixels")[0].split(" x "))
    x, y = width // 8, height // 8
    rect = f"{x},{y},{width - 2 * x},{height - 2 * y}"
    for name, command in (("kmeans", ["kmeans", 4]), ("sift", ["sift", 200]),
                          ("graphcut", ["segment", "--rect", rect, 5])):
        target = Path(folder, name)
        subprocess.run([Path(programs, command[0]), *map(str, command[1:]), photograph, target],
                       check=True, capture_output=True)
        assert target.read_bytes() == files[f"{name}.ppm"], f"{name}.ppm differs"


def check(example, other, photograph):
    with tempfile.TemporaryDirectory() as folder:
        if os.path.isdir(other):
            check_with_c_examples(example, other, folder, photograph)
        else:
            for name, data in pictures(photograph):
                check_same(example, other, folder, name, data)
        if not ON_GPU:
            check_refused(example, folder)
    print(f"{os.path.basename(example)}: ok")


if __name__ == "__main__":
    check(*sys.argv[1:])
