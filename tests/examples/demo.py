# SPDX-License-Identifier: BSD-2-Clause
"""The demo writes a playable video and a picture of each element at work, and of all; shows the same
in a window, of a camera, too; and says what failed.

usage: demo.py PROGRAM PICTURE FOLDER-OF-TEST-CAMERA
"""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import wave

from common import ON_GPU

FRAMES, WIDTH, HEIGHT, TOP = 12, 640, 480, 100  # the label is above row TOP
ELEMENTS = ["gpuerode", "gpuccl", "gpukmeans", "gpusift", "gpugraphcut"]
STEMS = ELEMENTS + ["gpusift-reference", "all"]

# No camera of this machine, and no display, unless a test says so.
ENVIRONMENT = {**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "", "GST_PLUGIN_FEATURE_RANK":
               "v4l2deviceprovider:NONE,pipewiredeviceprovider:NONE"}


def demo(*args, **variables):
    return subprocess.run([sys.argv[1], *args], capture_output=True, text=True, timeout=100,
                          env={**ENVIRONMENT, **variables})


def grey(path, width, height, decoder):
    """Every frame as GRAY8, decoded by GStreamer."""
    return grey_frames(path + ".raw", width, height,
                       ["filesrc", f"location={path}", "!", *decoder.split()])


def grey_frames(raw, width, height, source):
    subprocess.run(["gst-launch-1.0", "-q", *source, "!", "videoconvert", "!",
                    f"video/x-raw,format=GRAY8,width={width},height={height}", "!", "filesink",
                    f"location={raw}"], check=True)
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
            row, = table_in(result.stdout)
            assert row["element"] == "gpuerode" and row["frames/s"] > 0, f"{effect}: {result.stdout}"
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
            (["camera"], ["no camera was found", "Video/Source", "file"], None),
            (["--window"], ["--window: there is no display", "DISPLAY"], None),
            (["a", "b"], ["one file"], None)):
        with tempfile.TemporaryDirectory() as folder:
            for out, earlier in (os.path.join(folder, "new", "out"), {}), (folder, {
                    "gpuerode." + end: b"good" for end in ("mp4", "webm", "png")}):
                for name, content in earlier.items():
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(content)
                result = demo("--out", out, *args)
                check_failed(result, *words)
                assert not absent or absent not in result.stderr, f"{args}: {result.stderr}"
                assert contents(folder) == earlier, f"{args}: left {os.listdir(folder)}"


def check_failed(result, *words):
    assert result.returncode == 1, f"{result.args}: exit {result.returncode}"
    for word in words:
        assert word in result.stderr, f"{result.args}: {result.stderr}"


def check_silent():
    """A server that never answers is given up after a while."""
    if not exists("rtspsrc"):
        print("there is no rtspsrc: no server is waited for")
        return
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        port = server.getsockname()[1]
        check_failed(demo("--stall", "1", "--out", os.path.join(folder, "out"), "-e", "gpuerode",
                          f"rtsp://127.0.0.1:{port}/x"), "nothing for 1 s", "0 frames came", "--stall")
        assert not os.listdir(folder), os.listdir(folder)


def check_input_kept(video):
    """A video that an earlier run has made is not overwritten, and said so before anything runs."""
    folder = os.path.dirname(video)
    before = contents(folder)
    check_failed(demo("--out", folder, video), video, "would be overwritten", "--out")
    assert contents(folder) == before


def check_rotated(video):
    """What a phone was held upright for is shown upright: before is above after, then."""
    if not video.endswith(".mp4"):
        print("there is no mp4mux: no clip is rotated")
        return
    with open(video, "rb") as file:
        data = bytearray(file.read())
    matrix = data.index(b"tkhd") + 44  # of the track: here by 90 degrees clockwise
    data[matrix:matrix + 36] = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, HEIGHT << 16, 0, 1 << 30)
    with tempfile.TemporaryDirectory() as folder:
        rotated = os.path.join(folder, "phone.mp4")
        with open(rotated, "wb") as file:
            file.write(data)
        result = demo("--frames", "1", "--out", folder, "--effect", "gpuerode", rotated)
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout, folder)
        width, height = 408, 1088  # at most so high
        rows, = grey(said["video"], 2 * width, height, "decodebin")
        before, after = (bright(row[:width] for row in half)
                         for half in (rows[TOP:height // 2], rows[height // 2 + TOP:]))
        assert before > after > 0, f"{before} bright pixels above {after}"


def table_in(text):
    """Its rows, each with what the header names."""
    header, *lines = re.search(r"^element .*\n(?:.+\n)+", text, re.M)[0].splitlines()
    assert header.split() == ["element", "backend", "frames/s", "pipeline", "what", "it", "found"], header
    rows = []
    for line in lines:
        element, backend, rate, pipeline, found = line.split(maxsplit=4)
        rows.append({"element": element, "backend": backend, "found": found,
                     "frames/s": 0 if rate == "-" else int(rate), "pipeline": int(pipeline)})
    return rows


def reports_in(text, folder):
    """What is said of each effect, with its row of the table and its files."""
    reports = [dict(re.findall(r"^(\w+) +(.*)$", report, re.M))
               for report in text.split("\n\n") if report.lstrip().startswith("effect ")]
    for said, row in zip(reports, table_in(text), strict=True):
        video, = (name for name in os.listdir(folder) if name.startswith(row["element"] + ".")
                  and not name.endswith((".png", ".raw")))
        said.update(row, video=os.path.join(folder, video),
                    picture=os.path.join(folder, row["element"] + ".png"))
    return reports


def check_report(said, stem):
    assert said["frames"].startswith(f"{FRAMES} of ") and "generated" in said["frames"], said
    assert said["backend"] in ("cpu", "cuda"), said
    assert said["element"] == stem and said["pipeline"] > 0, said
    assert (said["frames/s"] > 0) == (stem != "all"), said


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
    assert said["found"] == "1 object in every frame", said
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
    first, second, *_ = said["colours"].split(", ")
    assert said["found"] == f"6 colours: {first}, {second}, ...", said
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
    assert int(re.match(r"(\d+) (to \d+ )?keypoint", said["found"])[1]) >= 1, said
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
    minimum = float(re.match(r"foreground ([0-9.]+) to", said["found"])[1]) / 100 * WIDTH * HEIGHT
    frames = grey(said["video"], 2 * WIDTH, HEIGHT, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    for number, rows in enumerate(frames):
        before = bright(row[:WIDTH] for row in rows[TOP:])
        after = bright(row[WIDTH:] for row in rows[TOP:])
        assert abs(after - before) < 0.02 * before, f"frame {number}: {before} bright pixels, then {after}"
        assert before < 1.02 * minimum, f"frame {number}: {before} bright pixels, {said['found']}"


def check_found(said):
    """The path begins where all of the picture is in the frame."""
    assert said["reference"] == f"found in {FRAMES} of {FRAMES} frames with all of it", said
    assert corners_off(said) <= 1, said


def corners_off(said):
    """In pixels, of a reference that was found wherever it was all in the frame."""
    return float(re.fullmatch(r"reference in (\d+) of \1 frames with all of it, "
                              r"corners ([0-9.]+) px off", said["found"])[2])


def check_mosaic(said):
    """The clip and the five, each in its tile, with the ball that they leave or find."""
    columns, rows, border = 3, 2, 2
    width, height = columns * WIDTH - border, rows * HEIGHT - border
    frames = grey(said["video"], width, height, "decodebin")
    assert len(frames) == FRAMES, f"{len(frames)} frames can be played"
    for number, frame in enumerate(frames):
        clip, eroded, components, colors, keypoints, cut = (
            [line[column:column + WIDTH - border] for line in frame[row + TOP:row + HEIGHT - border]]
            for row in (0, HEIGHT) for column in (0, WIDTH, 2 * WIDTH))
        ball = bright(clip)
        assert 0 < bright(eroded) < 0.95 * ball, f"frame {number}: {bright(eroded)} of {ball}"
        for same in colors, cut:
            assert abs(bright(same) - ball) < 0.05 * ball, f"frame {number}: {bright(same)} of {ball}"
        for drawn in components, keypoints:
            changed = [[abs(a - b) > 60 for a, b in zip(*lines)] for lines in zip(clip, drawn)]
            assert 20 < count_of(changed) < 2 * ball, f"frame {number}: {count_of(changed)} pixels"

    with open(said["picture"], "rb") as file:
        size = struct.unpack(">II", file.read(24)[16:])
    assert abs(size[0] - (6 * 406 + 6)) <= 12 and abs(size[1] - (4 * 306 + 6)) <= 8, size


def check_path(find):
    """The whole path: the picture is found where it is, and there alone, to a pixel; its outline is
    drawn. In a video that is named it is looked for, too."""
    with tempfile.TemporaryDirectory() as folder:
        result = demo("--out", folder, "--effect", find)
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout, folder)
        found, frames, parts, absent = re.fullmatch(
            r"found in (\d+) of (\d+) frames with all of it, \d+ of (\d+) with a part, "
            r"0 of (\d+) without it", said["reference"]).groups()
        assert found == frames and int(frames) >= 40 and int(absent) >= 10, said
        assert int(frames) + int(parts) + int(absent) == int(said["frames"].split()[0]) == 90, said
        assert corners_off(said) <= 1, said

        width, height = 480, 360
        frames = grey(said["video"], 2 * width, height, "decodebin")
        shown, absent = (count_of([abs(a - b) > 30 for a, b in zip(row[:width], row[width:])]
                                  for row in frames[number][TOP:]) for number in (0, 56))
        assert shown > 300 and absent < 100, f"{shown} and {absent} pixels are of an outline"

        again = os.path.join(folder, "again")
        result = demo("--out", again, "--frames", "5", "--effect",
                      f"videocrop right={width} ! {find}", said["video"])
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout, again)
        assert said["reference"] == "found in 5 of 5 frames", said
        assert said["found"] == "reference in 5 of 5 frames", said


def with_camera(folder):
    """What the demo needs to see the test camera, too. The private registry stays as it is."""
    registry = os.path.join(folder, "registry.bin")
    shutil.copy(os.environ["GST_REGISTRY"], registry)
    return {"GST_PLUGIN_PATH": os.environ["GST_PLUGIN_PATH"] + ":" + sys.argv[3],
            "GST_REGISTRY": registry}


def check_camera(camera):
    """Without a display the first camera goes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        result = demo("camera", "--frames", "5", "--out", folder, "--effect", "gpuccl", **camera)
        assert result.returncode == 0, result.stderr
        said, = reports_in(result.stdout, folder)
        assert said["frames"] == "5 of Test camera", said
        frames = grey(said["video"], 2 * 320, 240, "decodebin")
        assert len(frames) == 5, f"{len(frames)} frames can be played"
        assert bright(row[320:] for row in frames[-1][TOP:]), "nothing is shown of the camera"


@contextlib.contextmanager
def display():
    """A screen that nobody sees."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1300x700x24",
                               "-noreset"],
                              pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with open(read) as number:
            yield ":" + number.readline().strip()
    finally:
        server.terminate()
        server.wait()


def screen(name, folder):
    return grey_frames(os.path.join(folder, "screen.raw"), 1300, 700,
                       f"ximagesrc display-name={name} num-buffers=1 show-pointer=false".split())[0]


def close_windows(name):
    """As a window manager does when the user wants it."""
    class Message(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("sent", ctypes.c_int),
                    ("display", ctypes.c_void_p), ("window", ctypes.c_ulong),
                    ("kind", ctypes.c_ulong), ("format", ctypes.c_int), ("data", ctypes.c_long * 24)]
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = x11.XDefaultRootWindow.restype = ctypes.c_ulong
    server = ctypes.c_void_p(x11.XOpenDisplay(name.encode()))
    root, parent, count = ctypes.c_ulong(), ctypes.c_ulong(), ctypes.c_uint()
    windows = ctypes.POINTER(ctypes.c_ulong)()
    x11.XQueryTree(server, ctypes.c_ulong(x11.XDefaultRootWindow(server)), ctypes.byref(root),
                   ctypes.byref(parent), ctypes.byref(windows), ctypes.byref(count))
    client_message = 33
    for window in windows[:count.value]:
        message = Message(type=client_message, window=window, format=32,
                          kind=x11.XInternAtom(server, b"WM_PROTOCOLS", False))
        message.data[0] = x11.XInternAtom(server, b"WM_DELETE_WINDOW", False)
        x11.XSendEvent(server, ctypes.c_ulong(window), False, ctypes.c_long(0), ctypes.byref(message))
    x11.XCloseDisplay(server)


def check_window(camera):
    """All five of a clip in a window, until it is closed; one of a live camera until Ctrl-C."""
    with display() as name, tempfile.TemporaryDirectory() as folder:
        for args, elements, end in (
                (["--window"], ELEMENTS, lambda process: close_windows(name)),
                (["camera", "--effect", "gpuccl"], ["gpuccl"],
                 lambda process: process.send_signal(signal.SIGINT))):
            process = subprocess.Popen(
                [sys.argv[1], *args, "--out", os.path.join(folder, "out")], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**ENVIRONMENT, **camera, "DISPLAY": name})
            try:
                last = time.monotonic() + 30
                while not bright(screen(name, folder)[TOP:]):
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < last, f"{args}: nothing is shown"
                time.sleep(3)  # the clip's tile may come before the others
                end(process)
                out, said = process.communicate(timeout=30)
            finally:
                process.kill()
            assert process.returncode == 0, f"{args}: {said}"
            assert "WARNING" not in said and " frames/s" in said, f"{args}: {said}"
            rows = table_in(out)
            assert [row["element"] for row in rows] == elements, f"{args}: {out}"
            assert all(row["frames/s"] > 0 for row in rows), f"{args}: {out}"
            assert rows[elements.index("gpuccl")]["found"] == "1 object in every frame", f"{args}: {out}"
            assert not os.path.exists(os.path.join(folder, "out")), f"{args}: files are written"


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
        assert len(os.listdir(folder)) == 2 * len(STEMS), os.listdir(folder)
        reports = reports_in(result.stdout, folder)
        for said, stem, check in zip(reports, STEMS, (check_eroded, check_boxes, check_colors,
                                                      check_keypoints, check_cut, check_found,
                                                      check_mosaic), strict=True):
            check_report(said, stem)
            check(said)
        if ON_GPU:
            return
        check_rotated(reports[0]["video"])
        check_input_kept(reports[-1]["video"])

    check_silent()
    check_path(find)
    check_effects()
    with tempfile.TemporaryDirectory() as folder:
        wav = os.path.join(folder, "sound.wav")
        write_wav(wav)
        check_failures(wav)
        result = demo("--window", DISPLAY=":nowhere")
        assert result.returncode == 1 and "DISPLAY=:nowhere" in result.stderr, result.stderr
        camera = with_camera(folder)
        check_camera(camera)
        if shutil.which("Xvfb") and exists("ximagesrc", "ximagesink"):
            check_window(camera)
        else:
            print("Xvfb, ximagesrc or ximagesink is not installed: no window was opened")
    print("ok")


main()
