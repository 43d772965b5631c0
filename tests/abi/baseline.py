# SPDX-License-Identifier: BSD-2-Clause
"""Compares the C interface with the stored one: baseline.py [--update] INCLUDE MAP BASELINE CC...

What is compared is a library made here from the headers and the map, with
empty functions. Its debug information is that of C, the same from every
compiler and build type, without a word of what is inside ours. symbols.py
proves that the real library has these very functions, and its own sources
include the headers that declare them.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import public

update = "--update" in sys.argv
include, mapfile, baseline, *compiler = [arg for arg in sys.argv[1:] if arg != "--update"]
tools = ("abidw", "abidiff")
missing = [tool for tool in tools if not shutil.which(tool)]
if missing:
    print(f"{' and '.join(missing)} not found: install abigail-tools to compare the ABI")
    sys.exit(77)


def build(folder, name, prelude=""):
    structs = public.structs(include) # each is seen, though no function may take it yet
    with open(os.path.join(folder, name + ".c"), "w") as out:
        out.write(prelude + "#include <gpuvision/gpuvision.h>\n")
        out.writelines(f"{p} {{ __builtin_trap(); }}\n" for p in public.prototypes(include))
        out.writelines(f"void see_{s}(const {s} *s) {{ (void)s; }}\n" for s in structs)
    with open(mapfile) as ours, open(os.path.join(folder, "map"), "w") as out:
        out.write(ours.read() + "\nSTRUCTS { global: " + "".join(f"see_{s}; " for s in structs) + "};\n")
    subprocess.run([*compiler, "-g", "-O0", "-w", "-shared", "-fPIC", "-I", os.path.abspath(include),
                    name + ".c", "-o", name + ".so", "-Wl,-soname,libgpuvision.so",
                    "-Wl,--version-script=map"], check=True, cwd=folder)
    return os.path.join(folder, name + ".so")


def changes(library):
    # harmless: a field appended, a const added. They are for a human to judge, too.
    return subprocess.run(["abidiff", "--harmless", baseline, library], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    library = build(folder, "interface")
    if update:
        subprocess.run(["abidw", "--headers-dir", include, "--no-comp-dir-path", "--no-show-locs",
                        "--no-corpus-path", "--no-elf-needed", "--out-file", baseline, library],
                       check=True)
    altered = build(folder, "altered", "#include <stdint.h>\n#define int32_t int64_t\n")
    if changes(altered).returncode == 0:
        sys.exit("abidiff does not see int32_t turned into int64_t: this test has gone blind")
    done = changes(library)
if done.returncode:
    print(done.stdout, done.stderr, "\nIntended? tests/abi/README.md says how to store the new interface.")
sys.exit(bool(done.returncode))
