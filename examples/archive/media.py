# SPDX-License-Identifier: BSD-2-Clause
"""What the archive needs of GStreamer: where a file can be cut, and a pipeline for a shard of it."""
import re
import sys
from collections import Counter, deque
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from messages import GLib, Gst, elements_of, fields_of, line_of, ours_in

Gst.init(None)

LOST_S = 5  # how long an error may take that was lost, the second time
PREROLL_S = 60  # how long the first frame of a file, or behind a seek, may take
# Which go exactly where they are asked to. Other files, such as those of MPEG-TS, are not cut.
EXACT_DEMUXERS = {"avidemux", "matroskademux", "qtdemux"}
# AVI has no times of frames: those without a constant rate are played at this one.
AVI_RATE = "image/jpeg,framerate=30/1"
PARSED = 300  # frames, still compressed, that may wait where a file is taken apart
MIN_BYTES = 1000  # of a piece of video, where a file's own duration cannot be believed
QUEUED = 4  # frames, between the threads of decoder, elements and encoder


def has_given_up(bin_):
    """Whether nothing in a decodebin or a parsebin reads the file any more. They lose an error that an element
    posts while they plug it in: what follows is silence."""
    pads = [pad for element in elements_of(bin_) for pad in element.sinkpads if pad.mode == Gst.PadMode.PULL]
    return bool(pads) and all(pad.get_task_state() != Gst.TaskState.STARTED for pad in pads)


# ---- where a file can be cut ----

def is_video(caps):
    return caps.get_structure(0).get_name().startswith(("video/", "image/"))


def moment_of(frame, segment):
    """Of a frame in its file, in ns, as seeks take it; None if it has none."""
    moment = segment.to_stream_time(Gst.Format.TIME, frame.pts)
    return None if moment == Gst.CLOCK_TIME_NONE else moment


def key_frame_from(pipeline, sink, moment):
    """The first key frame from where a demuxer goes to that is asked for a moment, in ns, or None."""
    flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.KEY_UNIT | Gst.SeekFlags.SNAP_BEFORE
    if not pipeline.seek(1, Gst.Format.TIME, flags, Gst.SeekType.SET, moment, Gst.SeekType.NONE, 0):
        return None
    while sample := sink.emit("try-pull-sample", PREROLL_S * Gst.SECOND):
        if not sample.get_buffer().has_flags(Gst.BufferFlags.DELTA_UNIT):
            return moment_of(sample.get_buffer(), sample.get_segment())
    if not sink.get_property("eos"):
        raise TimeoutError(f"nothing of it came for {PREROLL_S} s")
    return None


def parsing(path):
    """A pipeline that only takes a file apart, and the sink that its video comes to."""
    pipeline = Gst.Pipeline()
    source, parser, sink = (Gst.ElementFactory.make(name) for name in ("filesrc", "parsebin", "appsink"))
    source.set_property("location", str(path))
    sink.set_property("sync", False)
    # One is not enough: until the first one has arrived, more than that may have to wait.
    sink.set_property("max-buffers", PARSED)
    for element in source, parser, sink:
        pipeline.add(element)
    source.link(parser)

    def link(_, pad):
        if is_video(pad.get_current_caps() or pad.query_caps()) and not sink.pads[0].is_linked():
            pad.link(sink.pads[0])

    parser.connect("pad-added", link)
    return pipeline, sink


def first_message(pipeline):
    """That it plays, or that it cannot; None where it has given up in silence."""
    wanted = Gst.MessageType.ASYNC_DONE | Gst.MessageType.ERROR | Gst.MessageType.EOS
    for _ in range(PREROLL_S):
        message = pipeline.get_bus().timed_pop_filtered(Gst.SECOND, wanted)
        if message or has_given_up(pipeline):
            return message
    raise TimeoutError(f"nothing of it came for {PREROLL_S} s")


def key_frames(path, every):
    """Moments in ns that a file can be cut at, about so far from each other; none where it cannot be."""
    pipeline, sink = parsing(path)
    found = set()
    try:
        pipeline.set_state(Gst.State.PLAYING)
        message = first_message(pipeline)
        demuxers = {element.get_factory().get_name() for element in elements_of(pipeline)} & EXACT_DEMUXERS
        if message and message.type == Gst.MessageType.ASYNC_DONE and demuxers:
            known, duration = pipeline.query_duration(Gst.Format.TIME)
            moments = range(0, duration if known else 0, every)
            for moment in moments[:path.stat().st_size // MIN_BYTES + 1]:
                found.add(key_frame_from(pipeline, sink, moment))
    finally:
        pipeline.set_state(Gst.State.NULL)
    return sorted(found - {None})[1:]


# ---- a pipeline for a shard ----

class Unusable(Exception):
    """The pipeline cannot be made of its text, or not on this machine."""


def described(recipe, encoder):
    """What follows the decoder, as text. Frames leave the memory of a GPU in front of the encoder."""
    # Not find(): a registry may have been written where there was a GPU.
    download = "cudadownload ! " if encoder != "fakesink" and Gst.ElementFactory.make("cudadownload") else ""
    sink = "" if encoder == "fakesink" else " ! filesink name=archive-result"
    queue = f"queue max-size-buffers={QUEUED} max-size-bytes=0 max-size-time=0"
    return f"{queue} ! {recipe} ! {queue} ! {download}{encoder}{sink}"


def has_elements():
    return Gst.Registry.get().find_plugin("gpuvision") is not None


def check_elements():
    if not has_elements():
        raise Unusable("GStreamer does not find the elements of gpuvision; see docs/install.md")


def processing(recipe, encoder):
    """That as a bin."""
    check_elements()
    try:
        made = Gst.parse_bin_from_description(described(recipe, encoder), True)
    except GLib.Error as error:
        raise Unusable(error.message) from None
    if not ours_in(made):
        raise Unusable("none of its elements is of gpuvision, such as gpuccl")
    if not made.get_static_pad("sink"):
        raise Unusable("its first element takes no frames")
    return made


def names_of(elements):
    """As in a process that has made no others: GStreamer counts the elements of all pipelines."""
    names, counts = {}, Counter()
    for element in elements:
        name, kind = element.get_name(), element.get_factory().get_name()
        if re.fullmatch(rf"{kind}\d+", name):
            name = f"{kind}{counts[kind]}"
            counts[kind] += 1
        names[element] = name
    return names


class Lines:
    """Messages in an order that does not depend on threads: the first of each element, then the second of
    each."""

    def __init__(self, elements, file):
        self.elements, self.file = elements, file
        self.waiting = {element: deque() for element in elements}
        self.taken = dict.fromkeys(elements, 0)
        self.turn = 0

    def take(self, element, line):
        self.taken[element] += 1
        self.waiting[element].append(line)
        while self.waiting[self.elements[self.turn]]:
            self.write(self.elements[self.turn])
            self.turn = (self.turn + 1) % len(self.elements)

    def write(self, element):
        print(self.waiting[element].popleft(), file=self.file)

    def end(self):
        """Where an element has fewer frames than others."""
        while any(self.waiting.values()):
            element = self.elements[self.turn]
            if self.waiting[element]:
                self.write(element)
            self.turn = (self.turn + 1) % len(self.elements)


class Cut:
    """Lets those frames of a stream pass that lie between two moments. The decoder is sent to the first one
    before any frame has passed, so that what follows never sees another."""

    def __init__(self, pad, bus, begin, end):
        self.pad, self.bus, self.begin, self.end = pad, bus, begin or 0, end or Gst.CLOCK_TIME_NONE
        self.held = pad.add_probe(Gst.PadProbeType.BLOCK | Gst.PadProbeType.BUFFER, self.hold) if begin else 0
        self.said = set()
        self.limiting = pad.add_probe(Gst.PadProbeType.BUFFER, self.limit)

    def say(self, what):
        """Once, on the bus."""
        if what not in self.said:
            self.said.add(what)
            self.bus.post(Gst.Message.new_application(self.pad, Gst.Structure.new_empty(what)))

    def hold(self, *_):
        self.say("held")
        return Gst.PadProbeReturn.OK

    def limit(self, pad, info):
        segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
        moment = moment_of(info.get_buffer(), segment)
        if moment is None or moment < self.begin or "ended" in self.said:
            return Gst.PadProbeReturn.DROP
        if moment >= self.end:
            self.said.add("ended")
            pad.get_peer().send_event(Gst.Event.new_eos())
            return Gst.PadProbeReturn.DROP
        if self.held and moment > self.begin and "begun" not in self.said:
            self.say("missed")
        self.said.add("begun")
        return Gst.PadProbeReturn.OK

    def release(self):
        self.pad.remove_probe(self.limiting)

    def go(self):
        """Whether the file can be cut there."""
        flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        sought = self.pad.send_event(Gst.Event.new_seek(
            1, Gst.Format.TIME, flags, Gst.SeekType.SET, self.begin, Gst.SeekType.NONE, 0))
        self.pad.remove_probe(self.held)
        return sought


class ShardPipeline:
    """A file, decoded, from one moment to another, then what the settings say."""
    contexts = {}  # such as that of CUDA, which takes long to make: by kind, of the pipelines before

    def __init__(self, shard, settings, video):
        self.pipeline, self.shard, self.cut = Gst.Pipeline(), shard, None
        self.lacks_decoder = self.plays = False
        self.caps = ""
        self.bus = self.pipeline.get_bus()
        self.rest = processing(settings["pipeline"], settings["encoder"])
        self.ours = ours_in(self.rest)
        self.names = names_of(self.ours)
        source, decoder = Gst.ElementFactory.make("filesrc"), Gst.ElementFactory.make("decodebin")
        self.decoder = decoder
        if not decoder:
            raise Unusable("GStreamer has no decodebin: install gstreamer1.0-plugins-base")
        source.set_property("location", shard.source)
        # Sound is not even decoded.
        decoder.set_property("caps", Gst.Caps.from_string("video/x-raw(ANY)"))
        decoder.set_property("expose-all-streams", False)
        if video:
            self.rest.get_by_name("archive-result").set_property("location", str(video))
        for element in self.ours:
            element.set_property("post-messages", True)
        for element in source, decoder, self.rest:
            self.pipeline.add(element)
        for context in self.contexts.values():
            self.pipeline.set_context(context)
        source.link(decoder)
        self.handlers = [decoder.connect("pad-added", self.link),
                         decoder.connect("unknown-type", self.note_unknown)]

    def keep(self, context):
        self.contexts[context.get_context_type()] = context

    def note_unknown(self, _, pad, caps):
        self.lacks_decoder = self.lacks_decoder or is_video(caps)

    def link(self, _, pad):
        sink = self.rest.get_static_pad("sink")
        if sink.is_linked():  # a second video in the file
            return
        if self.shard.begin is not None or self.shard.end is not None:
            self.cut = Cut(pad, self.bus, self.shard.begin, self.shard.end)
        caps = pad.get_current_caps()
        self.caps = caps.to_string()
        if not caps.can_intersect(sink.query_caps()):
            sink = self.converted(sink)
        _, rate, _ = caps.get_structure(0).get_fraction("framerate")
        setter = self.rest.get_by_name("archive-rate")
        if setter and rate == 0:
            setter.set_property("caps", Gst.Caps.from_string(AVI_RATE))
        pad.link(sink)
        self.plays = True

    def converted(self, sink):
        """A sink for frames that the recipe does not take as they are, such as those of 10 bits."""
        converter = Gst.ElementFactory.make("videoconvert")
        self.pipeline.add(converter)
        converter.sync_state_with_parent()
        converter.get_static_pad("src").link(sink)
        return converter.get_static_pad("sink")

    def is_silent(self):
        return not self.plays and has_given_up(self.decoder)

    def lost_error(self):
        """What the demuxer says that decodebin has let fall silent, alone with the file; or None, such as where
        the file is short, and read long before there is a decoder."""
        demuxers = [element.get_factory() for element in elements_of(self.decoder)
                    if "Demux" in element.get_factory().get_metadata("klass")]
        if not demuxers:
            return None
        pipeline, source, demuxer = Gst.Pipeline(), Gst.ElementFactory.make("filesrc"), demuxers[0].create()
        source.set_property("location", self.shard.source)
        for element in source, demuxer:
            pipeline.add(element)
        source.link(demuxer)

        def lead_nowhere(_, pad):
            sink = Gst.ElementFactory.make("fakesink")
            pipeline.add(sink)
            sink.sync_state_with_parent()
            pad.link(sink.pads[0])

        handler = demuxer.connect("pad-added", lead_nowhere)
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(
            LOST_S * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS)
        pipeline.set_state(Gst.State.NULL)
        demuxer.disconnect(handler)
        return message if message and message.type == Gst.MessageType.ERROR else None

    def end(self):
        """Without this nothing of it is ever freed: its elements hold what calls it, and it holds them."""
        self.pipeline.set_state(Gst.State.NULL)
        for handler in self.handlers:
            self.decoder.disconnect(handler)
        if self.cut:
            self.cut.release()

    def device(self):
        """What computes: one for all elements, or else several."""
        stats = [fields_of(element.get_property("stats")) for element in self.ours]
        return {key: ", ".join(sorted({one[key] for one in stats})) for key in ("backend", "device")}


def version():
    """Of the elements."""
    return Gst.Registry.get().find_plugin("gpuvision").get_version()
