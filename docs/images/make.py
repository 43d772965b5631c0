#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the pictures of the documentation with our elements, and one with an example where there is no
element yet: make.py BUILD_FOLDER

It also makes the photograph that tests/gst segments.

The photographs come from Debian's python3-skimage, and two from its opencv-doc, fetched with apt-get. The
pipelines are plain gst-launch-1.0 lines; with -v they are printed.
"""
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
SKIMAGE = "python3-skimage", "usr/lib/python3/dist-packages/skimage/data"
OPENCV = "opencv-doc", "usr/share/doc/opencv-doc/examples/data"
FULL_RANGE = "colorimetry=1:4:0:0" # of grey pictures: 0 is black, 255 white
GREY_PNG = f"video/x-raw,format=GRAY8,{FULL_RANGE} ! pngenc snapshot=true compression-level=9"
COLOR_PNG = "video/x-raw,format=RGB ! pngenc snapshot=true compression-level=9"
COINS = "left=24 right=194 top=16 bottom=155"
COINS_SIZE = 166, 132
DRAWING = """
    ................
    .##.....##..#.#.
    .##.....##...#..
    ...##...##..#.#.
    ...##..##.......
    ......##..####..
    ..#..##...#..#..
    .#.##.....#.##..
    ..#.......#.....
    ................
"""
verbose = "-v" in sys.argv
folders = [argument for argument in sys.argv[1:] if argument != "-v"]


def photographs(folder, name, pictures):
    """Fetches a package and unpacks it; nothing is installed."""
    subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name], cwd=folder,
                   check=True)
    package, = Path(folder).glob(name + "_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return Path(folder) / pictures


def launch(pipeline):
    if verbose:
        print("gst-launch-1.0 " + " ".join(pipeline.split()), flush=True)
    subprocess.run(["gst-launch-1.0", "-q", *shlex.split(pipeline)], check=True)


def sheet(name, tiles, size, columns, encoder, gap=6, caption=18):
    """A grid of tiles: (text, source ! ... that gives a frame of this size)."""
    width, height = size
    pads, branches = [], []
    for i, (text, source) in enumerate(tiles):
        x = i % columns * (width + gap)
        y = i // columns * (height + caption + gap)
        pads.append(f"sink_{i}::xpos={x} sink_{i}::ypos={y}")
        branches.append(
            f"{source} ! videoconvert ! video/x-raw,format=ARGB "
            f"! videobox bottom=-{caption} fill=white autocrop=false "
            f"! textoverlay text='{text}' font-desc='Sans 8' auto-resize=false color=0xff000000 "
            f"draw-outline=false draw-shadow=false valignment=bottom ypad=2 halignment=left xpad=1 "
            f"! mix.sink_{i}")
    rows = -(-len(tiles) // columns)
    out = f"width={columns * (width + gap) - gap},height={rows * (height + caption + gap) - gap}"
    launch(f"compositor name=mix background=white {' '.join(pads)} ! video/x-raw,format=ARGB,{out} "
           f"! videoconvert ! {encoder} ! filesink location={HERE / name} {' '.join(branches)}")


def picture(path, fmt, *, crop="", size=None, effect=""):
    """The photograph as the element sees it, and what the element makes of it."""
    scale = f"! videoscale method=lanczos ! video/x-raw,width={size[0]},height={size[1]}" if size else ""
    return (f"filesrc location={path} ! pngdec {'! videocrop ' + crop if crop else ''} "
            f"! videoconvert {scale} ! videoconvert ! video/x-raw,format={fmt} "
            f"{'! capssetter caps=video/x-raw,' + FULL_RANGE if fmt == 'GRAY8' else ''} "
            f"{'! ' + effect if effect else ''}")


def make_readme(photos):
    size = 300, 200
    effects = ["", "gpuerode radius=3 shape=ellipse", "gpukmeans clusters=4",
               "gpuccl threshold=150 min-area=9", "gpusift overlay=rich max-features=150",
               "gpugraphcut seed-source=rect rect=37,5,218,188"]
    shown = ["source", *effects[1:-1], "gpugraphcut seed-source=rect rect=…"]
    sheet("five.jpg", [(text, picture(photos / "coffee.png", "RGB", size=size, effect=effect))
                       for text, effect in zip(shown, effects)], size, 3, "jpegenc quality=85")


def make_operations(photos):
    tiles = [("source", picture(photos / "coins.png", "GRAY8", crop=COINS))]
    for operation in "erode", "dilate", "open", "close", "gradient", "tophat", "blackhat":
        tiles.append((operation, picture(photos / "coins.png", "GRAY8", crop=COINS,
                                         effect=f"gpuerode radius=4 shape=ellipse operation={operation}")))
    sheet("erode-operations.png", tiles, COINS_SIZE, 4, GREY_PNG)


def make_shapes(photos):
    """The elements, read off the dilation of one white pixel, and the erosion with each."""
    elements, eroded = [], []
    for shape in "rect", "cross", "ellipse":
        effect = f"gpuerode radius=6 radius-y=4 shape={shape}"
        dot = ("videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=RGBA,width=1,height=1 "
               "! videobox left=-10 right=-10 top=-8 bottom=-8 fill=black autocrop=false "
               f"! {effect} operation=dilate ! videoscale method=nearest-neighbour "
               "! video/x-raw,width=168,height=136 ! videocrop right=2 bottom=4")
        elements.append((f"shape={shape}", dot))
        eroded.append((f"eroded with {shape}",
                       picture(photos / "coins.png", "GRAY8", crop=COINS, effect=effect)))
    sheet("erode-shapes.png", elements + eroded, COINS_SIZE, 3, GREY_PNG)


def make_binary(photos):
    effects = [("source", ""), ("threshold=140 radius=0", "gpuerode threshold=140 radius=0"),
               ("threshold=140 radius=3", "gpuerode threshold=140 radius=3"),
               ("the same, operation=close", "gpuerode threshold=140 radius=3 operation=close")]
    sheet("erode-binary.png", [(text, picture(photos / "coins.png", "GRAY8", crop=COINS, effect=effect))
                               for text, effect in effects], COINS_SIZE, 4, GREY_PNG)


def make_components(photos):
    tiles = [(text, picture(photos / "coins.png", "RGB", crop=COINS, effect=effect))
             for text, effect in [("source", ""), ("output=mask", "gpuccl threshold=140 output=mask"),
                                  ("output=colorize", "gpuccl threshold=140"),
                                  ("the same, min-area=100", "gpuccl threshold=140 min-area=100")]]
    sheet("ccl-components.png", tiles, COINS_SIZE, 4, COLOR_PNG)


def make_modes(_):
    """Bars that touch: one component, or one for each bar."""
    size = 192, 128
    bars = ("videotestsrc num-buffers=1 pattern=smpte75 ! video/x-raw,format=RGB,"
            f"width={size[0]},height={size[1]}")
    tiles = [("source", bars), ("mode=binary threshold=1", f"{bars} ! gpuccl threshold=1"),
             ("mode=equal-value", f"{bars} ! gpuccl mode=equal-value threshold=1")]
    sheet("ccl-modes.png", tiles, size, 3, COLOR_PNG)


def make_clusters(photos):
    size = 240, 160
    tiles = [(text, picture(photos / "coffee.png", "RGB", size=size, effect=text if text != "source" else ""))
             for text in ["source", "gpukmeans clusters=3", "gpukmeans clusters=8"]]
    sheet("kmeans-clusters.png", tiles, size, 3, COLOR_PNG)


def make_spaces(photos):
    """Few colours, so that it shows which are kept apart; and the regions that they make."""
    size = 240, 160
    effects = [("color-space=rgb", "gpukmeans clusters=5"),
               ("color-space=lab", "gpukmeans clusters=5 color-space=lab"),
               ("its regions, by gpuccl", "gpukmeans clusters=5 color-space=lab output=labels "
                f"! capssetter caps=video/x-raw,{FULL_RANGE} ! videoconvert ! video/x-raw,format=RGB "
                "! gpuccl mode=equal-value threshold=0 min-area=100")]
    sheet("kmeans-spaces.png", [(text, picture(photos / "coffee.png", "RGB", size=size, effect=effect))
                                for text, effect in effects], size, 3, COLOR_PNG)


def make_keypoints(photos):
    size = 300, 200
    tiles = [(text, picture(photos / "coffee.png", "RGB", size=size, effect=effect))
             for text, effect in [("overlay=points", "gpusift overlay=points color=0xffff0000"),
                                  ("overlay=rich", "gpusift overlay=rich"),
                                  ("the same, max-features=40", "gpusift overlay=rich max-features=40")]]
    sheet("sift-keypoints.png", tiles, size, 3, COLOR_PNG)


def make_detection(photos):
    """What parameters change in what is found."""
    size = 300, 200
    tiles = [(text, picture(photos / "coffee.png", "RGB", size=size,
                            effect=f"gpusift overlay=rich {effect}"))
             for text, effect in [("upsample=true contrast-threshold=0.02", "contrast-threshold=0.02"),
                                  ("upsample=true contrast-threshold=0.06", "contrast-threshold=0.06"),
                                  ("upsample=false contrast-threshold=0.02",
                                   "upsample=false contrast-threshold=0.02")]]
    sheet("sift-parameters.png", tiles, size, 3, COLOR_PNG)


def make_photograph(photos):
    """Four by three, and small, for a test that reads it without a decoder."""
    source = picture(photos / "coffee.png", "RGB", crop="left=33 right=34", size=(160, 120))
    launch(f"{source} ! pnmenc ! filesink location={HERE.parents[1] / 'tests/gst/coffee.ppm'}")


def terminal_color(terminal, certain):
    """Green for the object, blue for the background, white for neither."""
    strength = min(abs(terminal), 400) / 400
    full = (35, 60, 130) if certain else (20, 135, 45) if terminal > 0 else (70, 120, 220)
    return bytes(round(255 + (level - 255) * (1 if certain else strength)) for level in full)


def make_cut(photos, folder):
    """What examples/python/graphcut.py gives to the solver in its last iteration, and what it cuts out."""
    import graphcut as example
    width, height, margin = 180, 135, 2
    names = ["source", "terminals", "links", "cut"]
    paths = {name: folder / f"graphcut-{name}.ppm" for name in names}
    source = picture(photos / "coffee.png", "RGB", crop="left=33 right=34", size=(width, height))
    launch(f"{source} ! pnmenc ! filesink location={paths['source']}")
    pixels = example.read_picture(paths["source"])
    mask, _, _ = example.cut_out(pixels, margin)
    bins, certain = example.start(pixels, margin)
    terminals = example.terminals_of(bins, mask, certain).ravel().tolist()
    links = example.links_of(pixels)
    dearest = example.UNIT * example.SMOOTHNESS
    # To the right and down, of the two the cheaper one.
    cheaper = 255 * links[[0, 2]].min(0).astype(int) // dearest
    colors = b"".join(map(terminal_color, terminals, certain.ravel().tolist()))
    tiles = {"terminals": numpy.frombuffer(colors, numpy.uint8).reshape(pixels.shape),
             "links": numpy.stack([cheaper] * 3, 2).astype(numpy.uint8),
             "cut": numpy.where(mask[..., None], pixels, pixels // 4)}
    for name, tile in tiles.items():
        example.write_picture(paths[name], tile)
    sheet("graphcut-cut.png", [(name, f"filesrc location={path} ! pnmdec") for name, path in paths.items()],
          (width, height), 4, COLOR_PNG)


def make_labels(photos, folder):
    """What examples/python/expansion.py makes of a picture, where borders cost nothing and where they do."""
    size, clusters = (300, 200), 6
    program, source = HERE.parents[1] / "examples/python/expansion.py", folder / "expansion-source.ppm"
    launch(f"{picture(photos / 'coffee.png', 'RGB', size=size)} ! pnmenc ! filesink location={source}")
    tiles = [("source", source)]
    for smoothness, text in (0, f"{clusters} clusters of k-means"), (10, "smoothed"):
        tiles.append((text, folder / f"expansion-{smoothness}.ppm"))
        subprocess.run([sys.executable, program, str(clusters), str(smoothness), source, tiles[-1][1]], check=True)
    sheet("expansion-labels.png", [(text, f"filesrc location={path} ! pnmdec") for text, path in tiles],
          size, 3, COLOR_PNG)


def make_sides(photos):
    size = 240, 160
    effects = ["", "seed-source=auto", "seed-source=rect rect=30,4,174,150"]
    sheet("segment-sides.png",
          [(effect.removeprefix("seed-source=rect ") or "source",
            picture(photos / "coffee.png", "RGB", size=size, effect="gpugraphcut " + effect if effect else ""))
           for effect in effects], size, 3, COLOR_PNG)


def make_edges(photos):
    """A head before another background, enlarged so that its hair can be seen."""
    size, part = (320, 240), "left=145 right=287 top=5 bottom=447"
    find = "gpugraphcut seed-source=rect rect=60,0,380,512 output=cutout edge="
    enlarge = f"videoscale method=nearest-neighbour ! video/x-raw,width={size[0]},height={size[1]}"
    tiles = [("source", picture(photos / "astronaut.png", "RGB", crop=part) + f" ! {enlarge}")]
    for edge in "hard", "soft":
        path = photos / f"{edge}.png"
        cut = picture(photos / "astronaut.png", "RGB", effect=f"{find}{edge} ! videocrop {part}")
        launch(f"compositor name=mix ! video/x-raw,format=ARGB ! videoconvert ! {COLOR_PNG} ! filesink location={path} "
               "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff2060a0 "
               f"! video/x-raw,width=80,height=60 ! mix. {cut} ! videoconvert ! video/x-raw,format=ARGB ! mix.")
        tiles.append((f"edge={edge}", picture(path, "RGB") + f" ! {enlarge}"))
    sheet("segment-edge.png", tiles, size, 3, COLOR_PNG)


def make_object(photos):
    """The object in the scale that it is found in, about."""
    size, own = (384, 288), (240, 165)
    pad = f" ! videobox left=-{(size[0] - own[0]) // 2} right=-{(size[0] - own[0]) // 2} " \
          f"top=-{(size[1] - own[1]) // 2} bottom=-{(size[1] - own[1] + 1) // 2} fill=white"
    find = f"gpusift reference={photos / 'box.png'} overlay=outline color=0xffff4000"
    scale = f" ! videoscale method=lanczos ! video/x-raw,width={size[0]},height={size[1]}"
    sheet("match-object.png",
          [("reference", picture(photos / "box.png", "RGB", size=own) + pad),
           ("overlay=outline", picture(photos / "box_in_scene.png", "RGB", effect=find) + scale)],
          size, 2, COLOR_PNG)


def make_analytics(photos):
    """What elements of GStreamer draw that know nothing of ours. segmentationoverlay is of 1.28."""
    if subprocess.run(["gst-inspect-1.0", "--exists", "segmentationoverlay"], check=False).returncode:
        return print("analytics.jpg is as it was: there is no segmentationoverlay")
    size = 300, 200
    tiles = [("coins.png", "top=3 bottom=84 right=60", "gpuccl threshold=140 min-area=100 output=none",
              "segmentationoverlay hint-maximum-segment-type=24 ! objectdetectionoverlay draw-labels=false"),
             ("coffee.png", "", "gpukmeans clusters=4", "segmentationoverlay"),
             ("coffee.png", "", "gpugraphcut seed-source=rect rect=37,5,218,188 output=none",
              "segmentationoverlay")]
    sheet("analytics.jpg", [(effect.split()[0], picture(photos / file, "RGB", crop=crop, size=size,
                                                        effect=f"{effect} attach-mask=true ! {shown}"))
                            for file, crop, effect, shown in tiles], size, 3, "jpegenc quality=85")


def make_connectivity(folder):
    """A drawing whose parts meet at corners, enlarged so that its pixels can be seen."""
    rows = DRAWING.split()
    pixels = bytes(255 * (pixel == "#") for row in rows for pixel in row)
    drawing, size = folder / "drawing.pgm", (12 * len(rows[0]), 12 * len(rows))
    drawing.write_bytes(b"P5\n%d %d\n255\n" % (len(rows[0]), len(rows)) + pixels)
    tiles = [(text, f"filesrc location={drawing} ! pnmdec ! videoconvert ! video/x-raw,format=RGB "
                    f"{'! gpuccl ' + effect if effect else ''} ! videoscale method=nearest-neighbour "
                    f"! video/x-raw,width={size[0]},height={size[1]}")
             for text, effect in [("source", ""), ("connectivity=4", "connectivity=4"),
                                  ("connectivity=8", "connectivity=8")]]
    sheet("ccl-connectivity.png", tiles, size, 3, COLOR_PNG)


def main():
    if len(folders) != 1:
        sys.exit(__doc__)
    os.environ["GST_PLUGIN_PATH"] = str(Path(folders[0]).resolve() / "gst")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GST_REGISTRY"] = str(Path(folder) / "registry.bin")
        photos = photographs(folder, *SKIMAGE)
        for make in (make_readme, make_operations, make_shapes, make_binary, make_components, make_modes,
                     make_connectivity, make_clusters, make_spaces, make_sides, make_edges, make_keypoints,
                     make_detection, make_analytics, make_photograph):
            make(photos)
        make_object(photographs(folder, *OPENCV))
        build = Path(folders[0]).resolve()
        paths = [str(HERE.parents[1] / folder) for folder in ("examples/python", "libgpuvision/bindings/python")]
        os.environ["GPUVISION_LIBRARY"] = str(build / "libgpuvision/libgpuvision.so.1")
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        sys.path[:0] = paths
        make_cut(photos, Path(folder))
        make_labels(photos, Path(folder))
    for path in sorted(HERE.glob("*.[jp][pn]g")):
        print(f"{path.relative_to(HERE.parents[1])}: {path.stat().st_size} bytes")


main()
