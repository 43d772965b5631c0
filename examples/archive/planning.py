# SPDX-License-Identifier: BSD-2-Clause
"""From files and folders to shards."""
import configparser
import os
import sys
from pathlib import Path

from store import Refused, Shard

RECIPES = Path(__file__).with_name("recipes.ini")
# What a folder is searched for; a file that is named may have any name.
SUFFIXES = {".3gp", ".asf", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts",
            ".mxf", ".ogg", ".ogv", ".ts", ".webm", ".wmv"}
LONGEST = 240  # bytes of a name, to which results add a suffix
# How a video is written: the suffix of its file, and what stands between the last frame and the file. Each
# of these gives the same bytes whenever it is given the same frames.
VIDEOS = {
    "mjpeg": ("avi", "videoconvert ! jpegenc ! capssetter name=archive-rate ! avimux"),
    "h264": ("ts", "videoconvert ! openh264enc ! h264parse ! mpegtsmux"),
    "none": (None, "fakesink"),
}


def recipes():
    """(pipeline, what it gives) of each, by name."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(RECIPES, encoding="utf-8")
    return {name: (" ".join(parser[name]["pipeline"].split()), parser[name]["about"]) for name in parser.sections()}


def settings(recipe, video, split_s):
    """What archive.json has. A recipe is a name, or else the text of a pipeline."""
    suffix, encoder = VIDEOS[video]
    return {"recipe": recipe, "video": video, "split": split_s, "suffix": suffix,
            "pipeline": recipes().get(recipe, (recipe,))[0], "encoder": encoder}


def check(settings):
    """Refuses a recipe that is no pipeline, if GStreamer is on this machine, too."""
    try:
        import media
    except SystemExit:
        return
    if not media.has_elements():
        return
    try:
        media.processing(settings["pipeline"], settings["encoder"])
    except media.Unusable as why:
        raise Refused(f"--recipe {settings['recipe']!r}: {why}; or give one of {', '.join(recipes())}") from None


def refuse(error):
    raise Refused(f"{error.filename}: {error.strerror}")


def walk(top):
    """Files below a folder, by links, too, without those of archives' results."""
    seen = set()
    for folder, folders, names in os.walk(top, followlinks=True, onerror=refuse):
        if os.path.realpath(folder) in seen or {"archive.json", "partial"} <= {*names, *folders}:
            folders.clear()
            continue
        seen.add(os.path.realpath(folder))
        yield from (Path(folder, name) for name in names)


def files_of(source):
    """(path, name of the results) of each video in what the user named."""
    path = Path(source).absolute()
    if path.is_dir():
        found = sorted(file for file in walk(path) if file.suffix.lower() in SUFFIXES and file.is_file())
        if not found:
            raise Refused(f"{source}: no file there has the suffix of a video, such as .mp4")
        return [(file, str(file.relative_to(path))) for file in found]
    if not path.is_file():
        raise Refused(f"{source}: there is no such file or folder")
    return [(path, path.name)]


def check_name(path, name):
    try:
        length = max(map(len, map(str.encode, Path(name).parts)))
    except UnicodeEncodeError:
        raise Refused(f"{str(path)!r}: its name is not UTF-8") from None
    if length > LONGEST:
        raise Refused(f"{path}: a name on that path has {length} bytes, more than {LONGEST}")


def shards_of(path, name, split_s, key_frames, earlier):
    check_name(path, name)
    stat = path.stat()
    identity = {"source": str(path), "bytes": stat.st_size, "modified": stat.st_mtime_ns}
    if earlier and all(getattr(earlier[0], key) == value for key, value in identity.items()):
        return earlier  # cut as before
    begins = [None]
    if split_s:
        try:
            begins += key_frames(path, split_s * 10**9)
        except TimeoutError as why:
            raise Refused(f"{path}: {why}") from None
    if len(begins) == 1:
        return [Shard(name, **identity)]
    return [Shard(f"{name}/{(begin or 0) // 10**6:09}ms", **identity, begin=begin, end=end)
            for begin, end in zip(begins, [*begins[1:], None])]


def refuse_mixing(store, shards):
    """Results of one name are of one source, and none has the name of a folder of others."""
    named = {}
    store.look()
    for shard in shards:
        other = named.setdefault(shard.name, shard.source)
        row = store.row(shard.name)
        if row and other == shard.source and (row["bytes"], row["modified"]) != (shard.bytes, shard.modified):
            other = row["source"]
        if other != shard.source:
            raise Refused(f"{shard.source}: its results would have the name of those of {other}; give a folder "
                          "that both are in, or another --out")
    suffixes = [suffix for suffix in ("jsonl", store.settings["suffix"]) if suffix]
    files = {f"{name}.{suffix}": source for name, source in named.items() for suffix in suffixes}
    for name, source in named.items():
        for end in (i for i, letter in enumerate(name) if letter == "/"):
            if name[:end] in files:
                raise Refused(f"{source}: its results would be in a folder that has the name of a result of "
                              f"{files[name[:end]]}; rename one of them")


def earlier_shards(store):
    """By source, of the plan that is there. What was cut stays as it is: rows have these names."""
    found = {}
    if store.plan.exists():
        for shard in store.shards():
            found.setdefault(shard.source, []).append(shard)
    return found


def plan(store, sources, progress=sys.stderr):
    """The shards of the sources, which the store then has as well."""
    found = {}
    for source in sources:
        for path, name in files_of(source):
            found.setdefault(path, name)
    split_s, key_frames, earlier = store.settings["split"], None, {}
    if split_s:
        from media import key_frames  # which needs GStreamer
        earlier = earlier_shards(store)
    shards = []
    for done, (path, name) in enumerate(found.items(), 1):
        shards += shards_of(path, name, split_s, key_frames, earlier.get(str(path)))
        if split_s and progress.isatty():
            print(f"\r\033[Klooking for key frames: {done} of {len(found)} files, {len(shards)} shards",
                  end="\n" if done == len(found) else "", file=progress, flush=True)
    refuse_mixing(store, shards)
    store.write_plan(shards)
    return shards
