# SPDX-License-Identifier: BSD-2-Clause
"""sift-throughput finds the same in every way, says which pictures are broken, and refuses bad input.

usage: throughput.py PROGRAM
"""
import json
import os
import random
import re
import struct
import sys
import tempfile
import zlib

from common import ON_GPU, assert_said, run


def textured(seed, width, height):
    """Squares of random light, so that there is something to find."""
    light = random.Random(seed)
    cells = [light.randrange(256) for _ in range(64 * 64)]
    return bytes(cells[y // 7 * 64 + x // 7] for y in range(height) for x in range(width))


def png(width, height, pixels):
    """Of grey: what every gdk-pixbuf reads."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def check_folder(program, folder):
    for i in range(9):
        width, height = 100 + 20 * i, 160 - 10 * i
        with open(os.path.join(folder, f"{i}.png"), "wb") as file:
            file.write(png(width, height, textured(i, width, height)))
    with open(os.path.join(folder, "broken.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nno more than that")
    os.mkdir(os.path.join(folder, "inside"))
    figures = os.path.join(folder, "figures.json")
    result = run(program, "--rounds", 2, "--seconds", 1, "--threads", 3, "--json", figures, folder)
    if result.stderr.count("Couldn’t recognize the image file format") == 10:  # as where the MIME types are missing
        print("not run: gdk-pixbuf does not recognize PNG here")
        sys.exit(77)
    assert result.returncode == 0, result.stderr
    skipped = [line for line in result.stderr.splitlines() if line.startswith("skipped: ")]
    assert len(skipped) == 1 and "broken.png" in skipped[0], result.stderr
    assert "9 pictures" in result.stdout and "3 threads" in result.stdout, result.stdout
    for way in ("CPU, 3 threads, pictures in memory", "CPU, 1 thread, pictures in memory",
                "decoding alone", "CPU, 3 threads, with decoding", "all threads to one",
                "decoding, of one of the threads", "SIFT on one thread"):
        rate = re.search(rf"^{way} +([\d.]+)", result.stdout, re.M)
        assert rate and float(rate[1]) > 0, f"{way}: {result.stdout}"
    assert re.search("^CPU, 3 threads, with decoding: (decoding|SIFT) limits$", result.stdout, re.M), \
        result.stdout
    with open(figures, encoding="utf-8") as file:
        rows = {row["name"]: row for row in json.load(file)["benchmarks"]}
    assert all(row["image"].startswith("9 pictures, ") for row in rows.values()), rows
    for name, unit in (("decoding alone", "pictures_per_s"), ("all threads to one", "ratio"),
                       ("SIFT on one thread", "ms_each")):
        median, *quartiles = rows[name][unit]
        low, high = quartiles or (median, median)
        assert 0 < low <= median <= high and bool(quartiles) == (unit != "ms_each"), rows[name]
        printed = re.search(rf"^{name} +([\d.]+)", result.stdout, re.M)
        assert printed, result.stdout
        digits = len(printed[1].partition(".")[2])
        assert abs(float(printed[1]) - median) <= 0.5 * 10 ** -digits + 1e-4, (rows[name], printed[1])
    keypoints = re.search(r"^9 pictures have (\d+) keypoints, each the same every time$",
                          result.stdout, re.M)
    assert keypoints and int(keypoints[1]) > 9 * 20, result.stdout
    if ON_GPU:
        return
    few = run(program, "--rounds", 1, "--seconds", 1, "--features", 10, "--json", figures, folder)
    assert len([line for line in few.stderr.splitlines() if line.startswith("skipped: ")]) == 1, few.stderr
    assert "9 pictures have 90 keypoints, each the same" in few.stdout, few.stdout


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        assert_said(run(program, os.path.join(folder, "missing")), "missing is no folder")
        assert_said(run(program, folder), "no picture that can be decoded")
        check_folder(program, folder)
    assert_said(run(program), "usage")
    assert_said(run(program, "--rounds", "0", "."), "--rounds", "1 to 1000")
    assert_said(run(program, "--threads", "many", "."), "--threads", "whole number")
    assert_said(run(program, "--feeders", "0", "."), "--feeders", "1 to 64")
    assert_said(run(program, "--seconds", "0", "."), "--seconds", "1 to 3600")
    assert_said(run(program, ".", "--features"), "--features needs a value")
    assert_said(run(program, ".", "again"), "usage")
    assert_said(run(program, "--json", "no/such/folder/figures.json", "."), "cannot be written")
    assert_said(run(program, "--json"), "--json needs a value")
    print("the same in every way, and what is broken is named")


if __name__ == "__main__":
    main()
