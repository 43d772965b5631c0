# SPDX-License-Identifier: BSD-2-Clause
"""Fails when a public struct, field, scalar or constant has no line in layout.c."""
import re
import sys

import public

include, layout = sys.argv[1:]
RECORDS = {"gpv_ccl_component", "gpv_sift_keypoint"} # of arrays, whose stride is an argument
FINAL = {"gpv_rect", "gpv_match_nearest", "gpv_match_pair"} # four numbers, for ever
COUNTERS = {"GPV_API_VERSION_MINOR", "GPV_API_VERSION_PATCH"} # they are there to grow
structs = public.structs(include)
lines = {
    "SCALAR": public.scalars(include),
    "STRUCT": list(structs),
    "FIELD": [f"{struct}, {field}" for struct, fields in structs.items() for field in fields],
    "VALUE": [name for name in public.constants(include) if name not in COUNTERS],
}
text = open(layout).read()
missing = []
for macro, wanted in lines.items():
    there = re.findall(rf"^{macro}\((\w+, \w+(?=, \d)|\w+)", text, re.M)
    missing += [f"{layout} lacks {macro}({name}, ...)" for name in wanted if name not in there]
    if not wanted:
        missing.append(f"found no {macro} in the headers")
missing += [f"{name} does not begin with struct_size" for name, fields in structs.items()
            if fields[0] != "struct_size" and name not in RECORDS | FINAL]
print("\n".join(missing) or ", ".join(f"{len(v)} {k}" for k, v in lines.items()))
sys.exit(bool(missing))
