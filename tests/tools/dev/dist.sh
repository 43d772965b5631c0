# SPDX-License-Identifier: BSD-2-Clause
# ./dev dist: the source as an archive, and a wrap.

dev_dist() {
    (($# <= 1)) || die "dist takes one URL, but was given: $*"
    run "$python" tests/tools/dist.py build-dist "$@"
}
