# SPDX-License-Identifier: BSD-2-Clause
"""Does shards, one after the other, until a fault of the machine ends the process, and a CUDA context that
is unusable with it."""
import hashlib
import json
import os
import signal
import sys
import time

from store import BAD_INPUT, DONE, TRY_AGAIN, sync

PATIENCE_S = 120  # for another process, which may be about to die, to give a shard back
STUCK_S = 60  # beyond the limit of a stall: then the process is killed, whatever it is stuck in
MORE_ERRORS_S = 0.5  # how long the cause of an error may come behind it
TICK_S = 0.2
SILENT_S, SILENCES = 2, 3  # how long the decoder may have given up without an error, and how often


class Undone(Exception):
    """A shard that could not be done; its input is not to blame."""


class Broken(Undone):
    """Nor could this process do another one: its device or its memory is gone, or it was asked to end."""


class BadInput(Exception):
    """A shard that no machine could do."""


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_source(shard):
    """Where a file that was planned cannot be seen, this machine lacks something."""
    try:
        stat = os.stat(shard.source)
        open(shard.source, "rb").close()
    except OSError as error:
        raise Undone(f"{shard.source}: {error.strerror} on {os.uname().nodename}") from None
    if (stat.st_size, stat.st_mtime_ns) != (shard.bytes, shard.modified):
        raise Undone(f"{shard.source}: it has changed since it was planned; plan again")


def is_of_the_input(media, error, work):
    """Whether an error of GStreamer's would come again anywhere."""
    stream, core = media.Gst.StreamError, media.Gst.CoreError
    if error.matches(stream.quark(), stream.CODEC_NOT_FOUND) or error.matches(core.quark(), core.MISSING_PLUGIN):
        return not work.lacks_decoder  # there is no video in it
    return (error.matches(core.quark(), core.NEGOTIATION) or
            error.domain == media.GLib.quark_to_string(stream.quark()))


def of_hardware(element):
    """Such as a decoder of the GPU, which fails like one that has read nonsense when its device is lost."""
    factory = element.get_factory() if hasattr(element, "get_factory") else None
    return bool(factory) and "Hardware" in factory.get_metadata("klass")


def failure(media, message, work):
    """The error as an exception. A device that is lost makes other elements fail, too: it is the reason."""
    first = None
    while message:
        error, debug = message.parse_error()
        where = (debug or "").strip().splitlines()
        why = f"{message.src.get_name()}: {error.message}{f' ({where[-1]})' if where else ''}"
        if "not-negotiated" in why or "not-linked" in why:
            why += f"; recipe or --video do not take its frames, {work.caps}"
        if of_hardware(message.src) or not is_of_the_input(media, error, work):
            return Broken(why)
        first = first or BadInput(why)
        message = work.bus.timed_pop_filtered(int(MORE_ERRORS_S * media.Gst.SECOND), media.Gst.MessageType.ERROR)
    return first


class Silence(Exception):
    """The decoder has given up without a word."""


class Watch:
    """A shard that is in work: what the elements say, and whether anything goes on."""

    def __init__(self, media, work, lines, stall_s):
        self.media, self.work, self.lines, self.stall_s = media, work, lines, stall_s
        self.warnings = []

    def handle(self, message):
        """Whether the stream goes on."""
        kinds = self.media.Gst.MessageType
        if message.type == kinds.ERROR:
            raise failure(self.media, message, self.work)
        if message.type == kinds.WARNING:
            self.warnings.append(f"{message.src.get_name()}: {message.parse_warning()[0].message}")
        if message.type == kinds.APPLICATION and not (
                message.get_structure().get_name() == "held" and self.work.cut.go()):
            raise Undone(f"no decoder gets to {self.work.shard.begin} ns of it: plan it without --split")
        if message.type == kinds.HAVE_CONTEXT:
            self.work.keep(message.parse_have_context())
        if message.type == kinds.ELEMENT and message.src in self.lines.waiting:
            line = self.media.line_of(self.work.names[message.src], message.src,
                                      self.media.fields_of(message.get_structure()))
            self.lines.take(message.src, json.dumps(line))
        return message.type != kinds.EOS

    def listen(self):
        gst, last = self.media.Gst, time.monotonic()
        wanted = (gst.MessageType.ERROR | gst.MessageType.WARNING | gst.MessageType.APPLICATION |
                  gst.MessageType.ELEMENT | gst.MessageType.HAVE_CONTEXT | gst.MessageType.EOS)
        while True:
            message = self.work.bus.timed_pop_filtered(int(TICK_S * gst.SECOND), wanted)
            if message:
                signal.alarm(self.stall_s + STUCK_S)
                last = time.monotonic()
                if not self.handle(message):
                    return
            elif time.monotonic() - last > SILENT_S and self.work.is_silent():
                error = self.work.lost_error()
                raise failure(self.media, error, self.work) if error else Silence
            elif time.monotonic() - last > self.stall_s:
                raise Broken(f"nothing has gone on for {self.stall_s} s")


def process(*args):
    """Writes the files. Returns what the manifest says of it."""
    for _ in range(SILENCES):
        try:
            return process_once(*args)
        except Silence:
            pass
    raise Undone("the decoder has given up without an error")


def process_once(media, shard, settings, parts, stall_s):
    try:
        work = media.ShardPipeline(shard, settings, parts["video"][0] if "video" in parts else None)
    except media.Unusable as why:
        raise Undone(str(why)) from None
    with open(parts["messages"][0], "w", encoding="utf-8") as file:
        lines = media.Lines(work.ours, file)
        watch = Watch(media, work, lines, stall_s)
        try:
            if work.pipeline.set_state(media.Gst.State.PLAYING) == media.Gst.StateChangeReturn.FAILURE:
                message = work.bus.pop_filtered(media.Gst.MessageType.ERROR)
                raise failure(media, message, work) if message else Undone("the pipeline cannot be started")
            watch.listen()
            device = work.device()
            lines.end()
        except Broken:  # what is stuck cannot be stopped
            raise
        except BaseException:
            work.end()
            raise
        work.end()
    frames = max(lines.taken.values())
    if not frames:
        raise BadInput("no frame of it could be decoded")
    return {"frames": frames, **device, "warnings": len(watch.warnings), "warning": (watch.warnings or [None])[0]}


def row_of(store, shard, media, begin, **more):
    return {"shard": shard.name, "source": shard.source, "bytes": shard.bytes, "modified": shard.modified,
            "begin": shard.begin, "end": shard.end, **more,
            "parameters": {key: store.settings[key] for key in ("recipe", "pipeline", "video")},
            "library": media.version(), "gstreamer": media.Gst.version_string(),
            "host": os.uname().nodename, "seconds": round(time.monotonic() - begin, 3)}


def keep(parts):
    """Gives what was written its names. Returns the SHA-256 of each."""
    hashes = {}
    for kind, (part, final) in parts.items():
        hashes[kind] = sha256(part)
        sync(part)
        final.parent.mkdir(parents=True, exist_ok=True)
        part.replace(final)
        sync(final.parent)
    return hashes


def do_claimed(store, shard, media, stall_s):
    begin = time.monotonic()
    final = store.finals(shard)
    # Without its files a shard is done anew, whatever its row says, and a manifest of a million need not be read.
    row = store.row_of(shard) if all(path.exists() for path in final.values()) else None
    if row:
        return row
    check_source(shard)
    store.sweep(shard)
    parts = {kind: (store.part(shard, kind), path) for kind, path in final.items()}
    try:
        found = process(media, shard, store.settings, parts, stall_s)
        # The names first: what the manifest has is there.
        row = row_of(store, shard, media, begin, status=DONE, sha256=keep(parts), **found)
    except BadInput as why:
        row = row_of(store, shard, media, begin, status=BAD_INPUT, why=str(why))
        for path in final.values():  # of a source that was replaced by this one
            path.unlink(missing_ok=True)
    finally:
        store.sweep(shard)
    earlier = store.row_of(shard) if row["status"] == BAD_INPUT else None
    if not earlier or earlier["status"] == DONE:
        store.append(row)
    return row


def do(store, shard, media, stall_s):
    """The row of the manifest; a new one, unless the shard has one."""
    if not store.claim(shard, PATIENCE_S):
        raise Undone(f"another process has been at it for {PATIENCE_S} s")
    signal.alarm(stall_s + STUCK_S)
    try:
        return do_claimed(store, shard, media, stall_s)
    finally:
        signal.alarm(0)
        store.release(shard)


def say(row):
    if row["status"] == TRY_AGAIN:
        print(f"{row['shard']}: {row['why']}", file=sys.stderr)
    print(json.dumps(row), flush=True)


def do_all(store, shards, media, stall_s):
    """The exit status."""
    status = os.EX_OK
    for shard in shards:
        try:
            row = do(store, shard, media, stall_s)
        except (Broken, MemoryError) as why:
            say({"shard": shard.name, "status": TRY_AGAIN, "why": str(why) or "out of memory", "ends": True})
            return os.EX_TEMPFAIL
        except (OSError, Undone) as why:
            row = {"shard": shard.name, "status": TRY_AGAIN, "why": str(why), "ends": False}
        say(row)
        if row["status"] == TRY_AGAIN:
            status = os.EX_TEMPFAIL
        elif row["status"] == BAD_INPUT and status == os.EX_OK:
            status = os.EX_DATAERR
    return status


def stop(number, _):
    raise Broken(f"ended by {signal.Signals(number).name}")


def greet(media):
    """Says that this process can do shards, as it gets them one by one."""
    try:
        media.check_elements()
    except media.Unusable as why:
        raise Broken(str(why)) from None
    print(json.dumps({"library": media.version()}), flush=True)


def work(store, shards, stall_s, greets):
    """The exit status. A line is printed for each shard: its row; or what is wrong, and whether it ends the
    process."""
    for number in signal.SIGTERM, signal.SIGINT:
        signal.signal(number, stop)
    try:
        signal.alarm(stall_s + STUCK_S)
        import media
        signal.alarm(0)
        if greets:
            greet(media)
        return do_all(store, shards, media, stall_s)
    except (Broken, OSError, SystemExit) as why:  # between two shards, or without GStreamer
        print(f"archive.py: {why}", file=sys.stderr)
        return os.EX_TEMPFAIL
