# SPDX-License-Identifier: BSD-2-Clause
"""The demo writes a playable video and a picture of each element at work, and says what failed.

usage: demo.py PROGRAM PICTURE
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import wave

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
    return [[data[row:row + width] for row in range(frame, frame + stride * height, stride)]
            for frame in range(0, len(data), stride * height)]


def bright(rows):
    return sum(value > 128 for row in rows for value in row)


def contents(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def check_effects():
    """Every effect is measured at its element of gpuvision, which names the files."""
    for effect in ("gpuerode name=foo", "gpuerode ! identity", "videoconvert ! gpuerode radius=4",
                   "gpuerode name=mixer ! identity name=file",
                   'gpuerode ! capsfilter caps="video/x-raw,format=RGBx"',
                   'gpuerode name="a<b&c"'):
        with tempfile.TemporaryDirectory() as folder:
            result = demo("--frames", "3", "--out", folder, "--effect", effect)
            assert result.returncode == 0, f"{effect}: {result.stderr}"
            assert "WARNING" not in result.stderr, f"{effect}: {result.stderr}"
            time = re.search(r"^gpuerode +([0-9.]+) ms", result.stdout, re.M)
            assert time and float(time[1]) > 0, f"{effect}: {result.stdout}"
            stems = {os.path.splitext(name)[0] for name in os.listdir(folder)}
            assert stems == {"gpuerode"} and len(os.listdir(folder)) == 2, f"{effect}: {stems}"


def write_wav(path):
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(8000))


def exists(*names):
    return all(subprocess.run(["gst-inspect-1.0", "--exists", name]).returncode == 0
               for name in names)


def check_failures(wav):
    """Says what is wrong, without false hints; leaves nothing, and earlier results as they are."""
    no_video = (["there is no video in it"], "libav") if exists("wavparse") else \
        (["WAV demuxer", "libav"], None)
    for args, words, absent in (
            (["nofile.mp4"], ["there is no file nofile.mp4"], None),
            ([os.path.dirname(wav)], [os.path.dirname(wav) + " is a folder"], None),
            ([__file__], ["Is it a video?"], None),
            ([wav], *no_video),
            (["foo://bar/x"], ["foo"], "libav"),
            (["http://127.0.0.1:1/x.mp4"], ["127.0.0.1"], "Is it a video?"),
            (["-e", ""], ["--effect is empty"], None),
            (["-e", "gpuerode radius=x"], ["radius"], None),
            (["-e", "gpuerode radius=300"], ["radius", "300", "0 to 255"], None),
            (["-e", "nosuchelement"], ["nosuchelement", "meson devenv"], None),
            (["-e", "videobalance"], ["no element of gpuvision"], None),
            (["-e", "gpusift reference=nofile.png"], ["nofile.png", "no picture"], None),
            (["-e", "gpuerode ! fakesink"], ["one video into another"], None),
            (["-e", "gpuerode ! identity error-after=5"], ["Failed after"], None),
            (["a", "b"], ["one file"], None)):
        with tempfile.TemporaryDirectory() as folder:
            for earlier in {}, {"gpuerode." + end: b"good" for end in ("mp4", "webm", "png")}:
                for name, content in earlier.items():
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(content)
                result = demo("--out", folder, *args)
                assert result.returncode == 1, f"{args}: exit {result.returncode}"
                for word in words:
                    assert word in result.stderr, f"{args}: {result.stderr}"
                assert not absent or absent not in result.stderr, f"{args}: {result.stderr}"
                assert contents(folder) == earlier, f"{args}: left {os.listdir(folder)}"


def reports_in(text):
    return [dict(re.findall(r"^(\w+) +(.*)$", report, re.M)) for report in text.strip().split("\n\n")]


def check_report(said, stem):
    assert said["frames"] == str(FRAMES), said
    assert said["backend"].split(",")[0] in ("cpu", "cuda"), said
    assert "generated" in said["clip"], said
    assert float(said[stem.split("-")[0]].split()[0]) > 0, said
    assert os.path.basename(said["picture"]) == stem + ".png", said


def check_eroded(said):
    """The ball is smaller on the right."""
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


def check_boxes(said):
    """There is one ball, in a colour, and a white box around it."""
    assert said["objects"] == "1 in every frame", said
    frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    for number, rows in enumerate(frames):
        ball = [[value > 128 for value in row[:WIDTH]] for row in rows[TOP:]]
        white = [[value > 180 for value in row[WIDTH:]] for row in rows[TOP:]]
        left, right, top, bottom = extent(ball)
        for found, expected in zip(extent(white), (left - 2, right + 2, top - 2, bottom + 2)):
            assert abs(found - expected) <= 2, f"frame {number}: {extent(white)}, {extent(ball)}"
        middle = white[(top + bottom) // 2]
        assert not any(middle[left + 2:right - 1]), f"frame {number}: the box is filled"


def check_colors(said):
    """Black, white and the greys between them, with their shares of the last frame."""
    shares = {int(color[:2], 16): float(share) for color, share in
              re.findall(r"#([0-9a-f]{2})\1\1 ([0-9.]+) %", said["colours"])}
    assert len(shares) == 6 and 0 in shares and 255 in shares, said
    assert abs(sum(shares.values()) - 100) < 0.1, said
    frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    before, after = [row[:WIDTH] for row in frames[-1]], [row[WIDTH:] for row in frames[-1]]
    assert abs(bright(before[TOP:]) - bright(after[TOP:])) < 0.001 * WIDTH * HEIGHT, "last frame"
    beside_label = bright(row[120:] for row in before[:TOP])
    share = 100 * (beside_label + bright(before[TOP:])) / (WIDTH * HEIGHT)
    expected = sum(share for level, share in shares.items() if level > 128)
    assert abs(share - expected) < 0.1, f"{share} % of the last frame are bright: {shares}"


def check_keypoints(said):
    """There are keypoints at the ball, marked in green there and nowhere else."""
    least = int(said["keypoints"].split()[0])
    assert least >= 1, said
    frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    for number, rows in enumerate(frames):
        left, right, top, bottom = extent([[value > 128 for value in row[:WIDTH]] for row in rows[TOP:]])
        changed = [[abs(a - b) > 60 for a, b in zip(row[:WIDTH], row[WIDTH:])] for row in rows[TOP:]]
        box, margin = extent(changed), 20
        assert count_of(changed) > 20, f"frame {number}: {count_of(changed)} pixels are marked"
        assert left - margin < box[0] and box[1] < right + margin and top - margin < box[2] and \
            box[3] < bottom + margin, f"frame {number}: {box} is marked, the ball is " \
            f"{left, right, top, bottom}"


def check_cut(said):
    """The ball is the foreground, and stays as bright as it was."""
    least = int(said["pixels"].split()[0])
    frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    for number, rows in enumerate(frames):
        before = bright(row[:WIDTH] for row in rows[TOP:])
        after = bright(row[WIDTH:] for row in rows[TOP:])
        assert abs(after - before) < 0.02 * before, f"frame {number}: {before} bright pixels, then {after}"
        assert before < 1.02 * least, f"frame {number}: {before} bright pixels, {said['pixels']}"


def check_found(said):
    """The path begins where all of the picture is in the frame."""
    assert said["reference"] == f"found in {FRAMES} of {FRAMES} frames with all of it", said
    assert float(said["corners"].split()[0]) <= 1, said


def check_path(find):
    """The whole path: the picture is found where it is, and there alone, to a pixel; its outline is
    drawn. In a video that is named it is looked for, too."""
    with tempfile.TemporaryDirectory() as folder:
        result = demo("--out", folder, "--effect", find)
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout)
        found, frames, parts, absent = re.fullmatch(
            r"found in (\d+) of (\d+) frames with all of it, \d+ of (\d+) with a part, "
            r"0 of (\d+) without it", said["reference"]).groups()
        assert found == frames and int(frames) >= 40 and int(absent) >= 10, said
        assert int(frames) + int(parts) + int(absent) == int(said["frames"]) == 90, said
        assert float(said["corners"].split()[0]) <= 1, said

        width, height = 480, 360
        frames = grey(said["video"], 2 * width, height, "decodebin")
        shown, absent = (count_of([abs(a - b) > 30 for a, b in zip(row[:width], row[width:])]
                                  for row in frames[number][TOP:]) for number in (0, 56))
        assert shown > 300 and absent < 100, f"{shown} and {absent} pixels are of an outline"

        result = demo("--out", folder, "--frames", "5", "--effect",
                      f"videocrop right={width} ! {find}", said["video"])
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout)
        assert said["reference"] == "found in 5 of 5 frames", said
        assert "corners" not in said, said


def count_of(rows):
    return sum(map(sum, rows))


def extent(rows):
    columns = [x for row in rows for x, value in enumerate(row) if value]
    lines = [y for y, row in enumerate(rows) if any(row)]
    return min(columns), max(columns), min(lines), max(lines)


def main():
    if not shutil.which("gst-launch-1.0") or \
            not exists("compositor", "pngenc", "pngdec", "pnmdec", "imagefreeze", "videobalance",
                       "videocrop") or \
            not (exists("openh264enc", "mp4mux") or exists("vp8enc", "webmmux")):
        print("skipped: GStreamer's tools, some elements of plugins-base, good and bad, or a video "
              "encoder are not installed")
        sys.exit(77)
    picture = sys.argv[2].replace(" ", "\\ ")
    find = f"gpusift reference={picture} overlay=outline"
    with tempfile.TemporaryDirectory() as folder:
        result = demo("--frames", str(FRAMES), "--out", folder, "--find", find)
        assert result.returncode == 0, result.stderr
        assert len(os.listdir(folder)) == 12, os.listdir(folder)
        reports = reports_in(result.stdout)
        assert len(reports) == 6, result.stdout
        for said, stem, check in zip(reports, ("gpuerode", "gpuccl", "gpukmeans", "gpusift",
                                               "gpugraphcut", "gpusift-reference"),
                                     (check_eroded, check_boxes, check_colors, check_keypoints,
                                      check_cut, check_found)):
            check_report(said, stem)
            check(said)

    check_path(find)
    check_effects()
    with tempfile.TemporaryDirectory() as folder:
        wav = os.path.join(folder, "sound.wav")
        write_wav(wav)
        check_failures(wav)
    print("ok")


main()
