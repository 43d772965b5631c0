#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a pipeline, and draws what the elements of gpuvision in it say on the bus: figures of each frame,
frames a second, and the time in the library. Ctrl-C ends it."""
import argparse
import json
import sys
import time
from collections import deque
from html import escape

from messages import GLib, Gst, fields_of, line_of, ours_in

DEFAULT = ("videotestsrc num-buffers=300 pattern=ball ! gpuerode ! gpukmeans clusters=2 ! gpuccl output=none "
           "! gpusift ! gpugraphcut output=none ! fakesink")
# What is drawn of each element; of the others the time alone.
FIGURES = {"gpuccl": "count", "gpukmeans": "inertia", "gpusift": "count", "gpugraphcut": "area"}
BARS = "▁▂▃▄▅▆▇█"
DRAWN = 32  # values in a row of the terminal
KEPT = 20000  # values in the chart, the latest ones
REFRESH_S, END_S = 0.5, 5


class Watched:
    """An element, and what it has said."""

    def __init__(self, element):
        self.element, self.name = element, element.get_name()
        self.kind = element.get_factory().get_name()
        self.figure = FIGURES.get(self.kind)
        self.times_s, self.figures, self.ms = (deque(maxlen=KEPT) for _ in range(3))
        element.set_property("post-messages", True)

    def stats(self):
        return fields_of(self.element.get_property("stats"))

    def take(self, fields, begin):
        self.times_s.append(time.monotonic() - begin)
        self.ms.append(self.stats()["time-us-last"] / 1000)
        if self.figure:
            self.figures.append(sum(part[self.figure] or 0 for part in fields.get("regions", [fields])))

    def rate(self):
        """Frames a second, of the latest 100."""
        latest = list(self.times_s)[-100:]
        return (len(latest) - 1) / (latest[-1] - latest[0]) if len(latest) > 1 and \
            latest[-1] > latest[0] else 0

    def row(self):
        stats = self.stats()
        figure = f"{self.figure} {self.figures[-1]:g}" if self.figures else ""
        return (f"{self.name:14} {stats['frames']:6} {self.rate():8.1f} "
                f"{stats['time-us-mean'] / 1000:8.2f} {stats['time-us-p99'] / 1000:8.2f}  "
                f"{figure:18} {bars(self.figures or self.ms)}")


def bars(values):
    latest = list(values)[-DRAWN:]
    maximum = max(latest, default=0) or 1
    return "".join(BARS[min(int(value / maximum * len(BARS)), len(BARS) - 1)] for value in latest)


def table(watched):
    head = f"{'element':14} {'frames':>6} {'frames/s':>8} {'ms mean':>8} {'ms p99':>8}  {'latest':18}"
    return [head, *(element.row() for element in watched)]


class Screen:
    """The rows, drawn over those before, if the output is a terminal."""

    def __init__(self, output):
        self.output, self.drawn, self.next = output, 0, 0

    def draw(self, rows):
        up = f"\033[{self.drawn}A\033[J" if self.drawn else ""
        print(up + "\n".join(rows), file=self.output, flush=True)
        self.drawn = len(rows)

    def refresh(self, watched):
        if self.output.isatty() and time.monotonic() >= self.next:
            self.draw(table(watched))
            self.next = time.monotonic() + REFRESH_S


# ---- the chart ----

WIDTH, HEIGHT, LEFT, TOP = 640, 90, 90, 24


def curve(title, times_s, values, top):
    """A panel of the chart: a curve over the time, from 0 to the greatest value."""
    maximum = max(values, default=0) or 1
    first, last = (times_s[0], times_s[-1]) if times_s else (0, 1)
    across = WIDTH / max(last - first, 1e-3)
    points = " ".join(
        f"{LEFT + across * (at - first):.1f},{top + HEIGHT * (1 - value / maximum):.1f}"
        for at, value in zip(times_s, values))
    return (f'<text x="{LEFT}" y="{top - 6}">{escape(title)}</text>\n'
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#ccc"/>\n'
            f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{maximum:.4g}</text>\n'
            f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>\n'
            f'<text x="{LEFT}" y="{top + HEIGHT + 14}">{first:.3g} s</text>\n'
            f'<text x="{LEFT + WIDTH}" y="{top + HEIGHT + 14}" text-anchor="end">{last:.3g} s</text>\n'
            f'<polyline points="{points}" fill="none" stroke="#06c"/>\n')


def chart(watched):
    panels = []
    for element in watched:
        if element.figures:
            panels.append((f"{element.name}: {element.figure}", element.times_s, element.figures))
        panels.append((f"{element.name}: ms in the library", element.times_s, element.ms))
    step = TOP + HEIGHT + 24
    drawn = "".join(curve(*panel, i * step + TOP) for i, panel in enumerate(panels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}" '
            f'height="{len(panels) * step}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n{drawn}</svg>\n')


# ---- the pipeline ----

def parse(words):
    try:
        pipeline = Gst.parse_launchv(words) if words else Gst.parse_launch(DEFAULT)
    except GLib.Error as error:
        sys.exit(f"pipeline: {error.message}; are you inside meson devenv -C build?")
    if not isinstance(pipeline, Gst.Pipeline):
        sys.exit("pipeline: it has one element; at least a source, an element and a sink are wanted")
    return pipeline


def watched_in(pipeline):
    found = [Watched(element) for element in ours_in(pipeline)]
    if not found:
        sys.exit("pipeline: none of its elements is of gpuvision, such as gpuccl")
    return found


def handle(message, watched, begin, lines):
    """Whether the pipeline goes on."""
    if message.type == Gst.MessageType.ERROR:
        error, debug = message.parse_error()
        sys.exit(f"{message.src.get_name()}: {error.message} ({debug})")
    if message.type == Gst.MessageType.ELEMENT and message.src in watched:
        element, fields = watched[message.src], fields_of(message.get_structure())
        element.take(fields, begin)
        if lines:
            print(json.dumps(line_of(element.name, message.src, fields)), file=lines, flush=True)
    return message.type != Gst.MessageType.EOS


def listen(pipeline, watched, screen, lines):
    """Until the stream ends. Ctrl-C ends it: then files that it writes are finished first."""
    bus, by_element = pipeline.get_bus(), {element.element: element for element in watched}
    wanted = Gst.MessageType.ERROR | Gst.MessageType.EOS | Gst.MessageType.ELEMENT
    begin, deadline, goes_on = time.monotonic(), None, True
    while goes_on and (deadline is None or time.monotonic() < deadline):
        try:
            message = bus.timed_pop_filtered(Gst.SECOND // 10, wanted)
            if message:
                goes_on = handle(message, by_element, begin, lines)
            screen.refresh(watched)
        except KeyboardInterrupt:
            if deadline:
                return
            pipeline.send_event(Gst.Event.new_eos())
            deadline = time.monotonic() + END_S


def run(pipeline, screen, lines):
    watched = watched_in(pipeline)
    try:
        if pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if message:
                handle(message, {}, 0, None)
            sys.exit("pipeline: it cannot be started")
        listen(pipeline, watched, screen, lines)
        screen.draw(table(watched))
    finally:
        pipeline.set_state(Gst.State.NULL)
    return watched


def svg(path):
    if not path.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{path}' must end with .svg")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE",
                        help="a line of JSON for each message; - is the standard output")
    parser.add_argument("--chart", metavar="FILE.svg", type=svg, help="drawn at the end")
    parser.add_argument("pipeline", nargs=argparse.REMAINDER,
                        help="as for gst-launch-1.0; unless it is given, a test picture passes all five")
    args = parser.parse_args()
    Gst.init(None)
    pipeline = parse(args.pipeline)
    to_output = args.json == "-"
    lines = sys.stdout if to_output else open(args.json, "w", encoding="utf-8") if args.json else None
    watched = run(pipeline, Screen(sys.stderr if to_output else sys.stdout), lines)
    if args.chart:
        with open(args.chart, "w", encoding="utf-8") as file:
            file.write(chart(watched))
    if lines and not to_output:
        lines.close()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
