# SPDX-License-Identifier: BSD-2-Clause
"""The tour in Python writes a page on which each algorithm has its code and its pictures, which are
what the library gives; and refuses bad input.

usage: tour.py TOUR PICTURE
"""
import base64
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ON_GPU

try:
    import numpy
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

tour, picture = sys.argv[1:]
import gpuvision as gpv  # noqa: E402


def run(*words, folder=None):
    return subprocess.run([sys.executable, tour, *map(str, words)], capture_output=True, text=True, cwd=folder)


def check_page(folder, source, size):
    page = Path(folder, "page.html")
    done = run(source, "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    sections = re.findall(r"<h2>(\w+)</h2>(.*?)(?=<h2>|</body>)", text, re.S)
    assert [name for name, _ in sections] == ["erode", "ccl", "kmeans", "sift", "graphcut"], sections
    found = {}
    for name, section in sections:
        assert f"gpv.{name.capitalize() if name != 'graphcut' else 'Segment'}(context" in section, name
        found[name] = [(kind, Image.open(io.BytesIO(base64.b64decode(data)))) for kind, data in
                       re.findall(r'src="data:image/(\w+);base64,([^"]+)"', section)]
        assert found[name], f"{name} has no picture"
        assert found[name][0][1].size == size, name
    assert "http" not in re.sub(r'"data:[^"]*"', "", text), "the page needs something else"
    return text, found


def main():
    with tempfile.TemporaryDirectory() as folder:
        text, found = check_page(folder, picture, (160, 120))
        pixels = numpy.array(Image.open(picture))
        with gpv.Context() as context:
            clusters = gpv.Kmeans(context, clusters=6)(pixels)
            cut = gpv.Segment(context, iterations=5, certificate=True)(pixels, rect=(13, 10, 134, 100))
        for color in clusters.colors:
            assert f"#{color.tobytes().hex()}" in text
        kind, mask = found["graphcut"][0]
        assert kind == "png" and (numpy.array(mask) == cut.mask).all(), "the mask differs"
        assert f"{cut.area} pixels of the foreground, flow {cut.flow}, cut {cut.flow}" in text

        if ON_GPU:
            return
        # Another kind of file, with alpha, larger than the page wants it.
        large = Path(folder, "large.png")
        Image.fromarray(pixels).convert("RGBA").resize((1920, 1440)).save(large)
        check_page(folder, large, (960, 720))
        deep = Path(folder, "deep.png")
        Image.fromarray(pixels[..., 1].astype(numpy.uint16) * 257).save(deep)
        _, shown = check_page(folder, deep, (160, 120))
        assert numpy.array(shown["erode"][1][1]).max() > 200, "a picture of 16 bits is too dark"
        dot = Path(folder, "dot.png")
        Image.new("L", (1, 1)).save(dot)
        check_page(folder, dot, (1, 1))

        for bad, why in ((Path(folder, "missing"), "No such file"), (Path(tour), "cannot identify")):
            done = run(bad, "-o", Path(folder, "none"))
            assert done.returncode == 1 and done.stderr.count("\n") == 1 and why in done.stderr, done
            assert not Path(folder, "none").exists()
        for options, why in ((["--longest=-5"], "from 0 to 32767"), (["-o", "no/where.html"], "no/where")):
            done = run(picture, *options)
            assert done.returncode in (1, 2) and why in done.stderr, done
        # A file that was not named is not overwritten, nor is the picture.
        page, before = Path(folder, "tour.html"), dot.read_bytes()
        page.write_text("mine", encoding="utf-8")
        for options, why in ([], "-o tour.html replaces it"), (["-o", dot], "is the picture"):
            done = run(dot, *options, folder=folder)
            assert done.returncode == 1 and why in done.stderr, done
        assert page.read_text(encoding="utf-8") == "mine" and dot.read_bytes() == before
    print("ok")


main()
