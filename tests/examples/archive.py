# SPDX-License-Identifier: BSD-2-Clause
"""A worker of the archive: what it writes, what it says of bad input and of bad machines, and what is left
when it is killed.

usage: archive.py PROGRAM [brief]     brief: what a worker writes and refuses, and what is left of a killed one
"""
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(sys.argv[1])
RATE, FRAMES, KEY_FRAMES = 30, 40, 16  # a second, of a clip, from one key frame to the next
DONE, BAD_INPUT, TRY_AGAIN, REFUSED = 0, 65, 75, 2
SECOND = 10**9


def launch(text, into):
    subprocess.run(["gst-launch-1.0", "-q", *shlex.split(text), "!", "filesink", f"location={into}"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_clip(path, pattern="ball"):
    """H.264 in what is almost MP4, with sound, of which nothing is wanted."""
    subprocess.run(shlex.split(
        f"gst-launch-1.0 -q qtmux name=mux ! filesink location={path} videotestsrc num-buffers={FRAMES} "
        f"pattern={pattern} ! video/x-raw,width=320,height=240,framerate={RATE}/1 ! videoconvert "
        f"! openh264enc gop-size={KEY_FRAMES} ! h264parse ! queue ! mux. audiotestsrc num-buffers=20 "
        "! audio/x-raw,format=S16LE ! queue ! mux."), check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)


def lacks(element):
    return subprocess.run(["gst-inspect-1.0", "--exists", element]).returncode != 0


def archive(*args, **options):
    return subprocess.run([sys.executable, PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=100,
                          **options)


def plan(out, *sources, recipe="gpuccl min-area=100 output=none", more=()):
    done = archive("plan", *sources, "--recipe", recipe, "--out", out, *more)
    assert done.returncode == 0, done.stderr
    return lines(out / "shards.jsonl")


def work(out, shard, code, *more):
    """The row of the manifest, or what was said instead."""
    done = archive("work", out, shard, *more)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert not list((out / "partial").iterdir())
    row = json.loads(done.stdout)
    assert row["status"] == {DONE: "done", BAD_INPUT: "bad input", TRY_AGAIN: "try again"}[code], row
    assert done.stderr.endswith(f"{row.get('why')}\n") == (code == TRY_AGAIN), done.stderr
    return row if code in (DONE, BAD_INPUT) else row["why"]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(out):
    return lines(out / "manifest.jsonl")


def pictures(path):
    """The frames of a result, as they are in the file."""
    into = path.with_suffix(".frames")
    launch(f"filesrc location={path} ! avidemux", into)
    data = into.read_bytes()
    into.unlink()
    return data


def check_recipes(folder, clip):
    """Each gives the video that gst-launch-1.0 gives, a line for each frame and element, and one row that
    says what was done."""
    told = archive("plan", "--help").stdout.split("recipes:\n")[1].splitlines()
    recipes = dict(re.split(" +", line.strip(), maxsplit=1) for line in told)
    page = (PROGRAM.parents[2] / "docs/archive.md").read_text()
    assert "".join(f"| {name} | {about} |\n" for name, about in recipes.items()) in page, recipes
    # A mask in the memory of a GPU has another format than one in that of the system.
    download = "" if lacks("cudadownload") else "cudadownload ! "
    for name in recipes:
        out = folder / name
        plan(out, clip, recipe=name)
        row = work(out, 0, DONE)
        assert rows(out) == [row]
        text = json.loads((out / "archive.json").read_text())["pipeline"]
        by_hand = folder / f"{name}.avi"
        launch(f"filesrc location={clip} ! decodebin ! {text} ! {download}videoconvert ! jpegenc ! avimux", by_hand)
        video, messages = out / "results/clip.mp4.avi", out / "results/clip.mp4.jsonl"
        assert video.read_bytes() == by_hand.read_bytes(), name
        elements = [word.split()[0] for word in text.split("!") if word.strip().startswith("gpu")]
        found = lines(messages)
        assert [line["type"] for line in found] == elements * FRAMES, name
        assert [line["timestamp"] for line in found[::len(elements)]] == \
            [SECOND * i // RATE for i in range(FRAMES)], name
        assert row["sha256"] == {"video": hashlib.sha256(video.read_bytes()).hexdigest(),
                                 "messages": hashlib.sha256(messages.read_bytes()).hexdigest()}
        assert row["frames"] == FRAMES and row["status"] == "done" and row["source"] == str(clip), row
        assert row["parameters"] == {"recipe": name, "pipeline": text, "video": "mjpeg"}, row
        assert row["begin"] is row["end"] is None and row["library"][0].isdigit() and row["device"], row
        assert row["backend"] == ("cpu" if row["device"].startswith("CPU") else "cuda"), row
        assert 0 < row["seconds"] < 60 and row["host"] == os.uname().nodename, row
        assert archive("status", out).returncode == DONE


def check_videos(folder, clip):
    """Other ways to write the result; of none there are lines alone."""
    for video, suffix in ("h264", ".ts"), ("none", None):
        out = folder / f"as-{video}"
        plan(out, clip, more=("--video", video))
        row = work(out, 0, DONE)
        there = sorted(path.name for path in (out / "results").iterdir())
        assert there == ["clip.mp4.jsonl"] + (["clip.mp4.ts"] if suffix else []), there
        assert set(row["sha256"]) == {"messages"} | ({"video"} if suffix else set())
        assert len(lines(out / "results/clip.mp4.jsonl")) == row["frames"] == FRAMES


def check_without_rate(folder, _):
    """Frames at times of their own are all in the AVI."""
    clip = folder / "free.webm"
    launch(f"videotestsrc num-buffers={FRAMES} ! video/x-raw,framerate={RATE}/1 ! vp8enc ! capssetter "
           "caps=video/x-vp8,framerate=0/1 ! webmmux", clip)
    out = folder / "free"
    plan(out, clip)
    assert work(out, 0, DONE)["frames"] == FRAMES
    assert pictures(out / "results/free.webm.avi").count(b"\xff\xd8\xff\xe0") == FRAMES


def check_split(folder, clip):
    """Cut at key frames, and nothing is lost or there twice."""
    out, whole = folder / "split", folder / "whole"
    recipe = "gpuerode radius=2 ! gpuccl output=none"
    plan(whole, clip, recipe=recipe)
    work(whole, 0, DONE)
    shards = plan(out, clip, recipe=recipe, more=("--split", "1"))
    # The key frame at or before each second.
    at = [RATE * s // KEY_FRAMES * KEY_FRAMES for s in range(1, FRAMES // RATE + 1)]
    begins = [None, *(SECOND * frame // RATE for frame in at)]
    assert [shard["begin"] for shard in shards] == begins, shards
    assert [shard["end"] for shard in shards] == [*begins[1:], None], shards
    done = [work(out, index, DONE) for index in range(len(shards))]
    assert [row["frames"] for row in done] == [
        last - first for first, last in zip([0, *at], [*at, FRAMES])], done

    def told(path):
        return [{key: value for key, value in line.items() if key != "running-time"} for line in lines(path)]

    stems = [out / "results" / shard["name"] for shard in shards]
    assert sum((told(Path(f"{stem}.jsonl")) for stem in stems), []) == told(whole / "results/clip.mp4.jsonl")
    parts = [pictures(Path(f"{stem}.avi")) for stem in stems]
    assert b"".join(parts) == pictures(whole / "results/clip.mp4.avi") and all(parts)
    # A key frame at the first moment of a file does not make an empty shard.
    assert len(plan(folder / "uncut", clip, more=("--split", "60"))) == 1


def check_split_reordered(folder, _):
    """A plan of frames that are stored in another order than they are shown in. They are not decoded here: no
    decoder that is free of faults is at hand."""
    if lacks("x265enc"):
        print("not run: there is no x265enc")
        return
    clip, out = folder / "reordered.mp4", folder / "reordered"
    launch(f"videotestsrc num-buffers=90 pattern=ball ! video/x-raw,width=320,height=240,framerate={RATE}/1 "
           "! x265enc key-int-max=20 option-string=bframes=3 ! h265parse ! mp4mux", clip)
    begin_s = time.monotonic()
    shards = plan(out, clip, more=("--split", "1"))
    assert time.monotonic() - begin_s < 30 and len(shards) > 2, shards
    assert [shard["end"] for shard in shards[:-1]] == [shard["begin"] for shard in shards[1:]], shards
    # Cut as before, beside a new file.
    before = (out / "shards.jsonl").read_bytes()
    plan(out, clip, clip.with_name("clip.mp4"), more=("--split", "1"))
    assert (out / "shards.jsonl").read_bytes().startswith(before)


def check_formats(folder, _):
    """What the elements do not take as it is."""
    for name, text in (("deep", "video/x-raw,format=I420_10LE ! vp9enc deadline=1 ! webmmux"),
                       ("raw", "video/x-raw,format=YUY2 ! avimux"),
                       ("full", "video/x-raw,format=Y444 ! vp9enc deadline=1 ! webmmux")):
        clip, out = folder / f"{name}.video", folder / f"of-{name}"
        launch(f"videotestsrc num-buffers=4 ! video/x-raw,width=64,height=48,framerate=30/1 ! videoconvert ! {text}",
               clip)
        plan(out, clip, recipe="gpuccl")
        assert work(out, 0, DONE)["frames"] == 4, name


def check_sources(folder, clip):
    """Results are no sources, links are followed, and names that no result can have are refused."""
    source = folder / "sources"
    (source / "below").mkdir(parents=True)
    other = folder / "elsewhere"
    other.mkdir()
    for path in source / "a b.mp4", source / "below/ä'\".mp4", other / "linked.MP4":
        os.link(clip, path)
    (source / "link").symlink_to(other)
    (other / "round").symlink_to(source)
    out = source / "out"
    names = [shard["name"] for shard in plan(out, source)]
    assert names == ["a b.mp4", "below/ä'\".mp4", "link/linked.MP4"], names
    for index in range(len(names)):
        work(out, index, DONE)
    assert [shard["name"] for shard in plan(out, source)] == names
    assert archive("status", out).returncode == DONE

    for name, said in ((b"\xff.mp4", "not UTF-8"), (b"n" * 245 + b".mp4", "249 bytes"),
                       (b"a b.mp4.avi/x.mp4", "rename one of them")):
        path = os.fsencode(source) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.link(clip, path)
        done = archive("plan", source, "--recipe", "gpuccl min-area=100 output=none", "--out", out)
        assert done.returncode == REFUSED and said in done.stderr, done
        os.unlink(path)


def check_bad_input(folder, clip):
    """65, one row however often it is tried, and no result. Others are not touched by it."""
    source = folder / "bad"
    source.mkdir()
    (source / "cut.mp4").write_bytes(clip.read_bytes()[:3000])
    (source / "empty.mkv").write_bytes(b"")
    (source / "good.mp4").write_bytes(clip.read_bytes())
    (source / "text.avi").write_text("no video\n" * 100)
    launch("audiotestsrc num-buffers=9 ! audio/x-raw,format=S16LE ! matroskamux", source / "sound.mkv")
    out = folder / "of-bad"
    shards = plan(out, source, more=("--split", "60"))
    assert [shard["name"] for shard in shards] == ["cut.mp4", "empty.mkv", "good.mp4", "sound.mkv", "text.avi"]
    for index in range(5):
        row = work(out, index, DONE if index == 2 else BAD_INPUT)
        assert row["status"] == "done" if index == 2 else row["why"], row
        work(out, index, DONE if index == 2 else BAD_INPUT)
    assert [row["shard"] for row in rows(out)] == [shard["name"] for shard in shards]
    assert sorted(path.name for path in (out / "results").iterdir()) == ["good.mp4.avi", "good.mp4.jsonl"]
    status = archive("status", out)
    assert status.returncode == BAD_INPUT and status.stdout.count("bad input: ") == 4, status.stdout
    assert "5 shards: 1 done, with 40 frames; 4 of bad input; 0 to do" in status.stdout, status.stdout
    # One that was replaced is a new shard, with a row of its own.
    (source / "cut.mp4").write_bytes(clip.read_bytes())
    plan(out, source, more=("--split", "60"))
    assert archive("status", out).returncode == TRY_AGAIN
    work(out, 0, DONE)
    assert [row["status"] for row in rows(out) if row["shard"] == "cut.mp4"] == ["bad input", "done"]


def patched(patch):
    """The program, behind code that can import its modules."""
    return f"""
import runpy, sys
sys.path.insert(0, {str(PROGRAM.parent)!r})
{patch}
sys.argv[0] = {str(PROGRAM)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def work_patched(patch, out, shard):
    return subprocess.run([sys.executable, "-c", patched(patch), "work", out, str(shard)], capture_output=True,
                          text=True, timeout=100)


# A plug-in that takes long to be loaded, as those of GPUs do, when decodebin looks for what comes next.
LATE = """
import media, time
made, late = media.ShardPipeline.__init__, []

def load(*_):
    if not late:
        late.append(True)
        time.sleep(4)
    return True

def make(self, *args):
    made(self, *args)
    self.decoder.connect("autoplug-continue", load)

media.ShardPipeline.__init__ = make
"""


def check_late_decoder(folder, _):
    """A file that has been read as a whole before there is a decoder is not bad."""
    clip, out = folder / "short.mp4", folder / "late"
    launch("videotestsrc num-buffers=1 ! openh264enc ! h264parse ! mp4mux", clip)
    plan(out, clip)
    done = work_patched(LATE, out, 0)
    assert done.returncode == DONE and [row["frames"] for row in rows(out)] == [1], done


UNREAD = """
from store import Store

def look(self):
    raise SystemExit("the manifest is read")

Store.look = look
"""


def check_unread(folder, clip):
    """A shard that is done for the first time does not have the manifest read, which may have a million rows."""
    out = folder / "unread"
    plan(out, clip)
    done = work_patched(UNREAD, out, 0)
    assert done.returncode == DONE and len(rows(out)) == 1, done
    done = work_patched(UNREAD, out, 0)
    assert done.returncode == TRY_AGAIN and "the manifest is read" in done.stderr, done


def without_elements(folder):
    """The environment of a host that lacks them."""
    return {**os.environ, "GST_PLUGIN_PATH": "", "GST_REGISTRY": str(folder / "registry")}


def check_try_again(folder, clip):
    """What the machine is to blame for: 75, no row and no result."""
    gone = folder / "gone.mp4"
    gone.write_bytes(clip.read_bytes())
    out = folder / "of-gone"
    plan(out, gone)
    gone.rename(folder / "away.mp4")
    assert "No such file" in work(out, 0, TRY_AGAIN)
    (folder / "away.mp4").rename(gone)
    os.utime(gone, (1, 1))
    assert "changed" in work(out, 0, TRY_AGAIN)
    for name, recipe, why, more in (
            ("fails", "gpuccl ! identity error-after=5", "identity0", ()),
            ("device", "gpuccl backend=cuda cuda-device-id=255", "CUDA", ()),
            ("stalls", "gpuccl ! identity sleep-time=5000000", "nothing has gone on for 1 s", ("--stall", "1"))):
        plan(folder / name, clip, recipe=recipe)
        said = work(folder / name, 0, TRY_AGAIN, *more)
        assert why in said, said
    for name in "of-gone", "fails", "device", "stalls":
        assert rows(folder / name) == [] and not list((folder / name / "results").iterdir()), name
        assert archive("status", folder / name).returncode == TRY_AGAIN
    out = folder / "without-elements"
    plan(out, clip)
    done = archive("work", out, 0, env=without_elements(folder))
    assert done.returncode == TRY_AGAIN and "elements of gpuvision" in done.stderr, done.stderr


def check_several(folder, clip):
    """One process does shards one after the other, and after one that it cannot do, unless the machine is to
    blame."""
    source = folder / "several"
    source.mkdir()
    for i in range(4):
        (source / f"{i}.mp4").write_bytes(clip.read_bytes() if i != 1 else b"")
    out = folder / "of-several"
    plan(out, source)
    done = archive("work", out, 0, 1, 2)
    assert done.returncode == BAD_INPUT, done
    assert [json.loads(line) for line in done.stdout.splitlines()] == rows(out)
    assert [row["status"] for row in rows(out)] == ["done", "bad input", "done"]
    for suffix in ".avi", ".jsonl":
        first, third = (out / f"results/{i}.mp4{suffix}" for i in (0, 2))
        assert first.read_bytes() == third.read_bytes(), "a process that has done another shard does it otherwise"
    # Nothing is left of a source that a corrupt one has replaced.
    work(out, 3, DONE)
    (source / "3.mp4").write_bytes(b"corrupt")
    plan(out, source)
    work(out, 3, BAD_INPUT)
    assert not list((out / "results").glob("3.mp4*"))
    (source / "3.mp4").write_bytes(clip.read_bytes())
    plan(out, source)
    (source / "2.mp4").unlink()
    (out / "results/2.mp4.avi").unlink()
    done = archive("work", out, 2, 3)
    statuses = [json.loads(line)["status"] for line in done.stdout.splitlines()]
    assert done.returncode == TRY_AGAIN and statuses == ["try again", "done"], done

    # A pipeline that is done gives everything back.
    for i in range(40):
        os.link(clip, source / f"again{i}.mp4")
    out = folder / "of-many"
    count = len(plan(out, source, more=("--video", "none")))
    few = resource.RLIMIT_NOFILE, (50, 50)
    done = archive("work", out, *range(count), preexec_fn=lambda: resource.setrlimit(*few))
    assert done.returncode == BAD_INPUT and len(done.stdout.splitlines()) == count > 40, done

    # Or as they come.
    out = folder / "of-lines"
    plan(out, clip)
    given = archive("work", out, "-", input=(out / "shards.jsonl").read_text())
    ready, *given_rows = given.stdout.splitlines(keepends=True)
    assert given.returncode == DONE and list(json.loads(ready)) == ["library"], given
    assert "".join(given_rows) == (out / "manifest.jsonl").read_text(), given
    assert archive("work", out, "-", input="").returncode == DONE
    done = archive("work", out, "-", input="", env=without_elements(folder))
    assert (done.returncode, done.stdout) == (TRY_AGAIN, "") and "elements of gpuvision" in done.stderr, done
    refused = archive("work", out, "-", input="{}\n")
    assert refused.returncode == REFUSED and "'{}' is no line of a plan" in refused.stderr, refused

    out = folder / "of-broken"
    plan(out, clip, folder / "other.mp4", recipe="gpuccl ! identity error-after=5")
    done = archive("work", out, 0, 1)
    assert done.returncode == TRY_AGAIN and len(done.stdout.splitlines()) == 1, done


def begin(out, shard):
    """A worker in its work, which takes seconds."""
    worker = subprocess.Popen([sys.executable, PROGRAM, "work", out, str(shard)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while not any(path.stat().st_size for path in (out / "partial").glob(f"*-{worker.pid}-*")):
        assert time.monotonic() < until and worker.poll() is None, worker.communicate()
        time.sleep(0.02)
    return worker


# Of the shards of one task, the second crashes its process, and the fourth has a device that is lost.
FALLS = """
import os, signal, worker
do = worker.do

def fall(store, shard, *rest):
    if shard.name == "1.mp4":
        os.kill(os.getpid(), signal.SIGKILL)
    if shard.name == "3.mp4":
        raise worker.Broken("its device is lost")
    return do(store, shard, *rest)

worker.do = fall
with open(sys.argv[2] + ".begun", "a") as file:
    print(*sys.argv[3:], file=file)
"""


def write_script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def check_slurm(folder, clip):
    """The script of a task, without Slurm: a process goes on behind the shard that has ended the one before, and
    the task is requeued four times."""
    source, out, bin_ = folder / "of-slurm", folder / "slurm", folder / "bin"
    source.mkdir()
    bin_.mkdir()
    for i in range(6):
        (source / f"{i}.mp4").write_bytes(clip.read_bytes())
    plan(out, source)
    falls, requeued = folder / "falls.py", folder / "requeued"
    falls.write_text(patched(FALLS))
    write_script(bin_ / "scontrol", f"echo $* >>{requeued}")
    write_script(bin_ / "python3", f'exec {sys.executable} "$@"')

    def task(program, number, tasks, restarts):
        return subprocess.run(
            ["bash", PROGRAM.with_name("slurm.sh"), program, out], capture_output=True, text=True, timeout=100,
            env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_MIN": "5",
                 "SLURM_ARRAY_TASK_MAX": str(4 + tasks), "SLURM_ARRAY_TASK_COUNT": str(tasks),
                 "SLURM_ARRAY_TASK_ID": str(5 + number), "SLURM_ARRAY_JOB_ID": "7",
                 "SLURM_RESTART_COUNT": str(restarts)})

    done = task(falls, 0, 1, 3)
    assert done.returncode == 0 and requeued.read_text() == "requeue 7_5\n", done
    assert [row["shard"] for row in rows(out)] == ["0.mp4", "2.mp4", "4.mp4", "5.mp4"], done
    assert out.with_suffix(".begun").read_text() == "0 --every 1\n2 --every 1\n4 --every 1\n"
    done = task(falls, 0, 1, 4)
    assert done.returncode == TRY_AGAIN and requeued.read_text().count("requeue") == 1, done
    for number in range(3):
        done = task(PROGRAM, number, 3, 0)
        assert done.returncode == DONE, done
    assert requeued.read_text().count("requeue") == 1 and len(rows(out)) == 6
    assert archive("status", out).returncode == DONE


def check_killed(folder, clip):
    """Of a killed worker something is left, which the next one removes; a worker that is asked to end leaves
    nothing; and of two at once one does the work."""
    out = folder / "killed"
    plan(out, clip, recipe="gpuccl output=none ! identity sleep-time=25000")
    worker = begin(out, 0)
    worker.kill()
    worker.communicate()
    assert list((out / "partial").iterdir()) and rows(out) == [] and not list((out / "results").iterdir())

    worker = begin(out, 0)
    worker.terminate()
    _, said = worker.communicate()
    assert worker.returncode == TRY_AGAIN and "ended by SIGTERM" in said, said
    assert not list((out / "partial").iterdir()) and rows(out) == []

    first = begin(out, 0)
    second = work(out, 0, DONE)
    assert first.wait() == DONE and json.loads(first.stdout.read()) == second
    assert rows(out) == [second]
    assert work(out, 0, DONE) == second and len(rows(out)) == 1


def check_torn_row(folder, clip):
    """What a host that lost power may have left does not spoil the next row."""
    out = folder / "torn"
    plan(out, clip, clip.with_name("other.mp4"))
    work(out, 0, DONE)
    with open(out / "manifest.jsonl", "r+b") as file:
        row = file.read()
        file.truncate(len(row) // 2)
    assert archive("status", out).returncode == TRY_AGAIN
    work(out, 1, DONE)
    work(out, 0, DONE)
    status = archive("status", out)
    assert status.returncode == DONE and "2 shards: 2 done" in status.stdout, status


def check_refused(folder, clip):
    """Bad arguments give one line, and nothing is written or mixed."""
    out = folder / "refused"
    recipe = ("--recipe", "poster")
    foreign, empty = folder / "foreign", folder / "nothing"
    foreign.mkdir()
    (foreign / "mine.txt").write_text("mine")
    empty.mkdir()
    others = folder / "others"
    others.mkdir()
    (others / "clip.mp4").write_bytes(clip.read_bytes() + b"more")
    for words, said in (
            (("plan", clip, "--recipe", "gpuccl !", "--out", out), "syntax error"),
            (("plan", clip, "--recipe", "posters", "--out", out), "give one of count-objects"),
            (("plan", clip, "--recipe", "videoconvert", "--out", out), "none of its elements is of gpuvision"),
            (("plan", clip, "--recipe", "gpuccl size=3", "--out", out), "size"),
            (("plan", folder / "nix", *recipe, "--out", out), "no such file or folder"),
            (("plan", empty, *recipe, "--out", out), "suffix of a video"),
            (("plan", clip, others / "clip.mp4", *recipe, "--out", out), "would have the name of those of"),
            (("plan", clip, *recipe, "--out", foreign), "mine.txt"),
            (("plan", clip, *recipe, "--out", clip), "File exists"),
            (("plan", clip, *recipe, "--out", out, "--split", "0"), "'0' must be a number from 1 to 1000000"),
            (("plan", clip, *recipe, "--out", out, "--video", "gif"), "mjpeg"),
            (("work", out), "SHARD"),
            (("work", clip.parent / "poster", "-", 0), "- goes with no other SHARD"),
            (("work", folder / "nix", 0), "no archive has been planned there"),
            (("work", out, -1), "must be a number from 0"),
            (("status", foreign), "no archive has been planned there")):
        done = archive(*words)
        assert done.returncode == REFUSED and said in done.stderr, (words, done)
        assert len(done.stderr.splitlines()) == 1 or "usage:" in done.stderr, done.stderr
    assert os.listdir(foreign) == ["mine.txt"]

    plan(out, clip, recipe="poster")
    before = (out / "shards.jsonl").read_bytes()
    row = work(out, 0, DONE)
    for words, said in (
            (("plan", clip, "--recipe", "keypoints", "--out", out), "with the recipe 'poster', and not with"),
            (("plan", clip, *recipe, "--out", out, "--split", "9"), "the split None"),
            (("plan", others, *recipe, "--out", out), "would have the name of those of"),
            (("work", out, 1), "has 1, from 0")):
        done = archive(*words)
        assert done.returncode == REFUSED and said in done.stderr, (words, done)
    assert (out / "shards.jsonl").read_bytes() == before and rows(out) == [row]


BRIEF = check_videos, check_split, check_bad_input, check_killed


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def skip_without(*elements):
    """What neither the worker nor a clip can be made without."""
    if subprocess.run([sys.executable, "-c", "import gi"], stderr=subprocess.DEVNULL).returncode:
        skip("there is no python3-gi")
    if not shutil.which("gst-launch-1.0"):
        skip("there is no gst-launch-1.0")
    for element in elements:
        if lacks(element):
            skip(f"there is no {element}")


def main():
    skip_without("openh264enc", "qtmux", "avimux", "capssetter", "jpegenc", "vp8enc", "webmmux", "mpegtsmux")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = folder / "clip.mp4"
        make_clip(clip)
        make_clip(folder / "other.mp4", "snow")
        checks = BRIEF if sys.argv[2:] == ["brief"] else (
            check_recipes, check_videos, check_without_rate, check_split, check_split_reordered, check_formats,
            check_sources, check_bad_input, check_late_decoder, check_unread, check_try_again, check_several,
            check_slurm, check_killed, check_torn_row, check_refused)
        for check in checks:
            begin_s = time.monotonic()
            check(folder, clip)
            print(f"{check.__name__}: {time.monotonic() - begin_s:.1f} s")


main()
