# SPDX-License-Identifier: BSD-2-Clause
"""The library exports what the headers declare and the map lists, and needs no CUDA to load. A struct begins
with its size."""
import re
import subprocess
import sys

import public

include, mapfile, library, nm, readelf = sys.argv[1:]
RECORDS = {"gpv_ccl_component", "gpv_sift_keypoint"} # of arrays, whose stride is an argument
FINAL = {"gpv_choice", "gpv_rect", "gpv_match_nearest", "gpv_match_pair"} # as they are, for ever
faults = []


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def same(what, names, other, others):
    faults.extend(f"{name} is in {what}, but not in {other}" for name in sorted(names - others))
    faults.extend(f"{name} is in {other}, but not in {what}" for name in sorted(others - names))


declared = set(public.functions(include))
text = re.sub(r"#.*", "", open(mapfile).read())
if "*" in re.sub(r"local:\s*\*;", "", text):
    faults.append(f"{mapfile} has a wildcard beside 'local: *'")
mapped = re.findall(r"^\s*(gpv_\w+);", text, re.M)
if mapped != sorted(set(mapped)) and text.count("{") == 1:
    faults.append(f"{mapfile} is not sorted")
exported = [line.split() for line in output(nm, "-D", "--defined-only", library).splitlines()]
functions = {name.split("@")[0] for *_, kind, name in exported if kind != "A"}
unversioned = [name for *_, kind, name in exported if kind != "A" and "@@GPUVISION_" not in name]

same("the headers", declared, "the map", set(mapped))
same("the headers", declared, "the exports", functions)
faults += [f"{name} is exported without a version" for name in unversioned]

structs = public.structs(include)
faults += [f"{name} does not begin with struct_size" for name, fields in structs.items()
           if fields[0] != "struct_size" and name not in RECORDS | FINAL]

dynamic = output(readelf, "-dW", library)
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
faults += [f"{name} is needed: the library would not load without a driver"
           for name in needed if re.match(r"libcuda|libnv", name)]
major = re.search(r"GPV_API_VERSION_MAJOR (\d+)", public.text(include)).group(1)
if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != [f"libgpuvision.so.{major}"]:
    faults.append(f"the SONAME is not libgpuvision.so.{major}")
if not declared or not structs or not needed:
    faults.append("found no function, no struct or no NEEDED entry: this test has gone blind")
print("\n".join(faults) or f"{len(functions)} functions; {len(structs)} structs; needs {' '.join(needed)}")
sys.exit(bool(faults))
