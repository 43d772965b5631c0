#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does to an archive of videos what a pipeline does to one, on as many machines as there are."""
import argparse
import os
import signal
import subprocess
import sys

import planning
from store import BAD_INPUT, DONE, Refused, Store, shards_in

STALL_S = 300


# ---- what is asked for ----

def number(minimum, maximum, kind=int):
    """A type of argparse."""
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not minimum <= value <= maximum:
            raise argparse.ArgumentTypeError(f"'{text}' must be a number from {minimum} to {maximum}")
        return value
    return parse


def shard_number(text):
    return text if text == "-" else number(0, 2**40)(text)


def share_of_gpu(text):
    return 0 if text == "0" else number(0.01, 1, float)(text)


def add_plan(parser):
    recipes = "\n".join(f"  {name:14} {about}" for name, (_, about) in planning.recipes().items())
    parser.epilog, parser.formatter_class = f"recipes:\n{recipes}", argparse.RawDescriptionHelpFormatter
    parser.add_argument("sources", metavar="SRC", nargs="+", help="a video, or a folder that is searched for videos")
    parser.add_argument("--recipe", required=True, metavar="R",
                        help="what is done to each: the name of one of the recipes below, or the text of a pipeline "
                        "as for gst-launch-1.0, from behind the decoder to before the encoder, such as "
                        "'gpuccl min-area=50'")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder, or that of the run to go on with")
    parser.add_argument("--video", choices=planning.VIDEOS, default="mjpeg",
                        help="how the result is written; default %(default)s")
    parser.add_argument("--split", type=number(1, 10**6), metavar="SECONDS",
                        help="cuts files at key frames into shards of about so many seconds, 1 to 1000000")


def words_of_plan(args):
    """What add_plan() has parsed."""
    split = [f"--split={args.split}"] if args.split else []
    return [f"--recipe={args.recipe}", f"--out={args.out}", f"--video={args.video}", *split, "--", *args.sources]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog="Exit status: 0 all is done, 65 the input of a "
                                     "shard is bad, 75 something is to be tried again, 2 bad arguments.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    stall = {"type": number(1, 10**6), "default": STALL_S, "metavar": "SECONDS",
             "help": "how long nothing may happen before a shard is given up, 1 to 1000000; default %(default)s"}

    plan = commands.add_parser("plan", help="writes the list of the shards")
    add_plan(plan)

    work = commands.add_parser("work", help="does shards of a plan, one after the other")
    work.add_argument("folder", metavar="DIR")
    work.add_argument("shards", metavar="SHARD", nargs="+", type=shard_number,
                      help="its line in shards.jsonl, from 0; or - for lines of it from standard input, until "
                      "that ends")
    work.add_argument("--every", metavar="N", type=number(1, 2**40),
                      help="with one SHARD: that, and each N lines further on, to the end")
    work.add_argument("--stall", **stall)

    run = commands.add_parser("run", help="plans, and does all shards on a cluster of Ray's")
    add_plan(run)
    run.add_argument("--address", metavar="HOST", help="of a cluster, such as 10.0.0.1:6379, or auto; "
                     "without it this machine is one")
    run.add_argument("--attempts", type=number(1, 1000), default=5, metavar="N",
                     help="how often a shard is tried, 1 to 1000; default %(default)s")
    run.add_argument("--workers", type=number(1, 10**6), metavar="N",
                     help="at most so many at once, 1 to 1000000; without it as many as the cluster has room for")
    run.add_argument("--cpus", type=number(1, 1024), default=1, metavar="N",
                     help="processors for a worker, where there is no GPU, 1 to 1024; default %(default)s")
    run.add_argument("--gpus", type=share_of_gpu, default=1, metavar="N",
                     help="GPUs for a worker, where there are some: 0.125 puts eight on each, as for an "
                     "H200; 0 uses none; 0, or 0.01 to 1; default 1")
    run.add_argument("--stall", **stall)

    status = commands.add_parser("status", help="says what is done, what is bad, and what is left")
    status.add_argument("folder", metavar="DIR")
    return parser.parse_args()


# ---- what is there ----

def split(store, shards):
    """(index, row) by what the manifest says: done, of bad input, and left to do, which have none."""
    by_status = {DONE: [], BAD_INPUT: [], None: []}
    for index, shard in enumerate(shards):
        row = store.row_of(shard)
        by_status[row["status"] if row else None].append((index, row and (row.get("frames"), row.get("why"))))
    return by_status


def summary(shards, by_status):
    """Prints it. Returns the exit status."""
    frames = sum(frames for _, (frames, _) in by_status[DONE])
    print(f"{len(shards)} shards: {len(by_status[DONE])} done, with {frames} frames; "
          f"{len(by_status[BAD_INPUT])} of bad input; {len(by_status[None])} to do")
    return os.EX_TEMPFAIL if by_status[None] else os.EX_DATAERR if by_status[BAD_INPUT] else os.EX_OK


# ---- commands ----

def plan(args):
    settings = planning.settings(args.recipe, args.video, args.split)
    planning.check(settings)
    store = Store.make(args.out, settings)
    shards = planning.plan(store, args.sources)
    left = split(store, shards)[None]
    print(f"{len(shards)} shards, {len(left)} to do: {store.plan}")
    return os.EX_OK


def work(args):
    import worker
    store = Store(args.folder)
    reads = "-" in args.shards
    if reads and (args.every or len(args.shards) > 1):
        raise Refused("- goes with no other SHARD, and not with --every")
    if args.every and len(args.shards) > 1:
        raise Refused(f"--every goes with one SHARD, not with {len(args.shards)}")
    shards = shards_in(sys.stdin) if reads else store.picked(args.shards, args.every)
    return worker.work(store, shards, args.stall, greets=reads)


def run(args):
    import engine
    # In a process of its own: Ray and GStreamer bring libraries that may not be loaded side by side.
    planned = subprocess.run([sys.executable, __file__, "plan", *words_of_plan(args)], stdout=subprocess.DEVNULL)
    if planned.returncode:
        return planned.returncode
    store = Store(args.out)
    shards = list(store.shards())
    by_status = split(store, shards)
    if by_status[None]:
        engine.run(store, shards, {status: [index for index, _ in found] for status, found in by_status.items()},
                   args)
        by_status = split(store, shards)
    return summary(shards, by_status)


def status(args):
    store = Store(args.folder)
    shards = list(store.shards())
    by_status = split(store, shards)
    for index, (_, why) in by_status[BAD_INPUT]:
        print(f"bad input: {shards[index].source}: {why}")
    return summary(shards, by_status)


def main():
    args = arguments()
    try:
        code = {"plan": plan, "work": work, "run": run, "status": status}[args.command](args)
    except Refused as why:
        print(f"archive.py: {why}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("archive.py: interrupted; the same command goes on where it stopped", file=sys.stderr)
        code = 128 + signal.SIGINT
    sys.stdout.flush()
    sys.stderr.flush()
    # Without GStreamer's and Python's farewells, which a CUDA context that is lost can hold up.
    os._exit(code)


if __name__ == "__main__":
    main()
