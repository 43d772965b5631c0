#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Shows the five algorithms on a picture of yours, each with the code that made what one sees:
writes a page of HTML that needs nothing else. It needs Pillow, which reads the picture."""
import argparse
import base64
import html
import inspect
import io
import sys
import textwrap
import time
from pathlib import Path

import numpy

import gpuvision as gpv
from common import whole_number

try:
    from PIL import Image, ImageOps
except ImportError:
    sys.exit("tour.py needs Pillow: apt-get install python3-pil, or pip install pillow")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
pre { padding: .8rem 1rem; overflow-x: auto; border-radius: 6px; font-size: 14px }
pre.code { background: #f3f4f6 } pre.out { background: #fdf6e3 }
figure { display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top }
figure img { max-width: 34rem; width: 100%; height: auto; image-rendering: auto }
figcaption, .note { color: #666; font-size: 14px }
"""
cells = []


def cell(function):
    """A part of the page: what the function's text says, its code, and what it yields: lines, and
    (caption, picture)."""
    cells.append(function)
    return function


@cell
def erode(context, picture):
    """Erosion: the minimum under a structuring element, here a disc. Dark parts grow. Dilation,
    opening and the gradient are made of it."""
    for operation in "erode", "dilate", "open", "gradient":
        run = gpv.Erode(context, operation=operation, shape="ellipse", radius=4)
        yield operation, run(picture)


@cell
def ccl(context, picture):
    """Connected components: the bright parts of the picture, each with its area, box and centroid,
    drawn in a colour of its own."""
    light = int(picture.mean()) + 40
    label = gpv.Ccl(context, threshold=min(light, 255), min_area=50, output="colors")
    found = label(picture)
    yield f"{found.count} components of luma {label.params['threshold']} or more"
    for i in numpy.argsort(-found.records["area"], kind="stable")[:5]:
        box, (x, y) = found.records[i], found.centroids[i]
        yield (f"  {box['area']:8} pixels, {box['left']},{box['top']} to "
               f"{box['right']},{box['bottom']}, centroid {x:.1f},{y:.1f}")
    yield "components", found.image


@cell
def kmeans(context, picture):
    """k-means: a few colours that stand for all, and how much of the picture each has."""
    found = gpv.Kmeans(context, clusters=6)(picture)
    for color, count in zip(found.colors, found.counts):
        share = 100 * count / found.counts.sum()
        yield f"  #{color.tobytes().hex()} {share:5.1f} % {'#' * round(share)}"
    yield f"{found.iterations} iterations, converged: {found.converged}"
    yield "6 colours", found.image


@cell
def sift(context, picture):
    """SIFT: places that can be found again, with scale and orientation. Here they are, and those of
    the same picture, turned and smaller, that match; the homography of the matches says where it is."""
    find, match = gpv.Sift(context, max_features=2000), gpv.Match(context)
    here, drawn = find(picture), picture.copy()
    find.draw(drawn, "rich", 0xff4000)
    yield f"{len(here.keypoints)} keypoints", drawn

    scene = turned(picture, degrees=25, scale=0.7)
    there = find(scene)
    pairs = match(here.descriptors, there.descriptors)
    found = gpv.find_homography(context, here.points[pairs["query"]], there.points[pairs["train"]])
    yield f"{len(pairs)} matches, of which {found.inliers.sum()} fit the homography"
    if found.inliers.sum() >= 15:
        height, width = picture.shape[:2]
        corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        match.draw(scene, found.transform(corners), width=5, color=0xff4000)
        yield "found again", scene


@cell
def graphcut(context, picture):
    """Graph cut: foreground and background. All that is known is that a margin is background; colours
    are learned in five iterations, and the cut is proved to be minimal: flow and cut are equal."""
    height, width = picture.shape[:2]
    x, y = width // 12, height // 12
    segment = gpv.Segment(context, certificate=True)
    found = segment(picture, rect=(x, y, width - 2 * x, height - 2 * y), dst=True)
    yield f"{found.area} pixels of the foreground, flow {found.flow}, cut {found.cut}"
    yield "mask", found.mask
    yield "background dimmed", found.image


def turned(picture, degrees, scale):
    """The picture, turned and scaled, on grey."""
    small = Image.fromarray(picture).resize([max(1, round(side * scale))
                                             for side in picture.shape[1::-1]], Image.LANCZOS)
    return numpy.array(small.rotate(degrees, Image.BICUBIC, expand=True, fillcolor=(90, 90, 90)))


def read_picture(path, longest):
    """(height, width, 3) of uint8, no side longer than asked for."""
    with Image.open(path) as file:
        picture = ImageOps.exif_transpose(file)
        if picture.mode[0] in "IF":  # more than 8 bits
            levels = numpy.asarray(picture, float)
            picture = Image.fromarray((255 * (levels / max(levels.max(), 1))).astype(numpy.uint8))
        picture = picture.convert("RGB")
    if longest and max(picture.size) > longest:
        picture.thumbnail((longest, longest), Image.LANCZOS)
    return numpy.array(picture)


def figure(caption, picture):
    """As PNG or JPEG, whichever is smaller."""
    files = {}
    for kind, options in ("png", {"optimize": True}), ("jpeg", {"quality": 90}):
        file = io.BytesIO()
        Image.fromarray(picture).save(file, kind, **options)
        files[kind] = file.getvalue()
    kind = min(files, key=lambda kind: len(files[kind]))
    data = base64.b64encode(files[kind]).decode()
    return (f'<figure><img src="data:image/{kind};base64,{data}" alt="{html.escape(caption)}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>")


def code_of(function):
    """Its lines, without the decorator and the text."""
    lines = inspect.getsource(function)
    start = lines.index('"""', lines.index('"""') + 3) + 3
    return textwrap.dedent(lines[start:].strip("\n"))


def section(function, context, picture):
    start, lines, figures = time.perf_counter(), [], []
    for item in function(context, picture):
        if isinstance(item, str):
            lines.append(item)
        else:
            figures.append(item)
    milliseconds = 1000 * (time.perf_counter() - start)
    print(f"{function.__name__:9} {milliseconds:8.1f} ms", flush=True)
    parts = [f"<h2>{function.__name__}</h2>", f"<p>{html.escape(inspect.getdoc(function))}</p>",
             f'<pre class="code">{html.escape(code_of(function))}</pre>']
    if lines:
        parts.append('<pre class="out">' + html.escape("\n".join(lines)) + "</pre>")
    parts += [figure(*item) for item in figures]
    parts.append(f'<p class="note">{milliseconds:.1f} ms for all of this cell, first calls '
                 "included.</p>")
    return "\n".join(parts)


def page(path, picture):
    height, width = picture.shape[:2]
    with gpv.Context() as context:
        head = f"{Path(path).name}, {width} x {height} pixels, on {context.device_name}"
        print(head)
        body = [section(function, context, picture) for function in cells]
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        f"<title>gpuvision: {html.escape(Path(path).name)}</title><style>{STYLE}</style></head><body>",
        "<h1>gpuvision, a tour</h1>", f"<p>{html.escape(head)}; library "
        f"{html.escape(gpv.version_string())}</p>", figure("source", picture), *body,
        "</body></html>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", help="of any kind that Pillow reads")
    parser.add_argument("-o", "--out", metavar="FILE", help="the page; default: tour.html, if there is none yet")
    parser.add_argument("--longest", type=whole_number(32767), default=960, metavar="PIXELS",
                        help="larger pictures are scaled down to this side; 0 = never; default 960")
    args = parser.parse_args()
    out = Path(args.out or "tour.html")
    if out.exists() and not args.out:
        sys.exit(f"{out} exists already: -o {out} replaces it, or name another file")
    try:
        picture = read_picture(args.picture, args.longest)
        if out.exists() and out.samefile(args.picture):
            sys.exit(f"{out} is the picture; name another file for the page")
        text = page(args.picture, picture)
    except (OSError, ValueError, gpv.Error, Image.DecompressionBombError) as error:
        sys.exit(f"{args.picture}: {error}")
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.exit(f"{out}: {error.strerror}")
    print(f"{out}: {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
