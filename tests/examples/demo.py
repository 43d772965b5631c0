# SPDX-License-Identifier: BSD-2-Clause
"""The demo writes a playable video and a picture of it, eroded on its right, and says what failed.

usage: demo.py PROGRAM
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

FRAMES, WIDTH, HEIGHT, TOP = 12, 640, 480, 100  # the label is above row TOP


def demo(*args):
    return subprocess.run([sys.argv[1], *args], capture_output=True, text=True, timeout=100)


def grey(path, width, height, decoder):
    """Every frame as GRAY8, decoded by GStreamer."""
    raw = path + ".raw"
    subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", *decoder.split(),
                    "!", "videoconvert", "!", f"video/x-raw,format=GRAY8,width={width},"
                    f"height={height}", "!", "filesink", f"location={raw}"], check=True)
    with open(raw, "rb") as file:
        data = file.read()
    stride = (width + 3) // 4 * 4
    assert len(data) % (stride * height) == 0, f"{len(data)} bytes are no whole number of frames"
    return [[data[(f * height + y) * stride:][:width] for y in range(height)]
            for f in range(len(data) // (stride * height))]


def bright(rows):
    return sum(value > 128 for row in rows for value in row)


def main():
    exists = lambda *names: all(subprocess.run(["gst-inspect-1.0", "--exists", name]).returncode
                                == 0 for name in names)
    if not shutil.which("gst-launch-1.0") or not exists("compositor", "pngenc", "pngdec") or \
            not (exists("openh264enc", "mp4mux") or exists("vp8enc", "webmmux")):
        print("skipped: GStreamer's tools, compositor, png or a video encoder are not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        result = demo("--frames", str(FRAMES), "--out", folder)
        assert result.returncode == 0, result.stderr
        said = dict(re.findall(r"^(\w+) +(.*)$", result.stdout, re.M))
        assert said["frames"] == str(FRAMES), result.stdout
        assert said["backend"].split(",")[0] in ("cpu", "cuda"), result.stdout
        assert "generated" in said["clip"], result.stdout
        assert float(said["gpuerode"].split()[0]) > 0, result.stdout

        frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
        assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
        for number, rows in enumerate(frames):
            before = bright(row[:WIDTH] for row in rows[TOP:])
            after = bright(row[WIDTH:] for row in rows[TOP:])
            assert 0 < after < before, f"frame {number}: {before} bright pixels, then {after}"

        with open(said["picture"], "rb") as file:
            width, height = struct.unpack(">II", file.read(24)[16:])
        assert (width, height) == (4 * 406 + 6, 2 * 306 + 6), (width, height)
        picture, = grey(said["picture"], width, height, "pngdec")
        before, after = bright(picture[6 + 70:306]), bright(picture[312 + 70:612])
        assert after < before, f"contact sheet: {before} bright pixels, then {after}"

    with tempfile.TemporaryDirectory() as folder:
        for args, words in ((["nofile.mp4"], "there is no file nofile.mp4"),
                            ([__file__], "Is it a video?"),
                            (["-e", "gpuerode radius=x"], "radius"),
                            (["-e", "videobalance"], "no element of gpuvision"),
                            (["a", "b"], "one file")):
            result = demo("--out", folder, *args)
            assert result.returncode == 1, f"{args}: exit {result.returncode}"
            assert words in result.stderr, f"{args}: {result.stderr}"
            assert not os.listdir(folder), f"{args}: left {os.listdir(folder)}"
    print("ok")


main()
