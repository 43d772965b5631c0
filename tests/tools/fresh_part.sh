#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fresh_part.sh PART: a part of ./dev fresh, in the root that it makes: what README.md and docs/install.md tell
# a new user to do. The project is cloned to ~/gpuvision.
set -euo pipefail

export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:$PATH
die() { printf 'fresh_part.sh: %s\n' "$*" >&2; exit 1; }
in_prefix() { find /usr/local | sort; }

if [[ $1 == clone ]]; then
    apt-get update
    exec git clone /srv/build-fresh/gpuvision.bundle ~/gpuvision
fi
cd ~/gpuvision
case $1 in
demo | test) ./dev "$1" ;;
install)
    in_prefix >~/before
    ninja -C build install
    ldconfig
    ;;
pkg-config) pkg-config --print-errors --modversion --cflags --libs gpuvision ;;
program)
    cd
    sed -n '/^```c$/,/^```$/{/^```/!p}' gpuvision/README.md >program.c
    cc program.c -o program $(pkg-config --cflags --libs gpuvision)
    ./program
    ;;
elements)
    # What docs/install.md says of /usr/local.
    exports=$(grep '^export GST_.*=/usr/local/' docs/install.md) || die "docs/install.md has no variables of GStreamer"
    eval "$exports"
    gst-inspect-1.0 gpuvision
    for element in gpuerode gpuccl gpukmeans gpusift gpugraphcut; do
        gst-inspect-1.0 "$element" | grep -A 9 '^Presets:' || die "$element has no presets"
    done
    ;;
uninstall)
    [[ -f build/meson-logs/install-log.txt ]] || die "nothing was installed"
    ninja -C build uninstall
    ldconfig
    diff ~/before <(in_prefix) || die "uninstalling has left the files above (>), or removed others (<)"
    ;;
*) die "there is no part '$1'" ;;
esac
