#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# package_smoke.sh [FOLDER]: uses what the Debian packages have installed, as their users would, or what
# was unpacked of them in FOLDER. It looks at nothing of the source, and leaves nothing behind.
set -euo pipefail

frames=10
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=${1:+$folder/root} # a path without blanks, which no compiler's flags can have
[[ ! $root ]] || ln -s "$(realpath -e "$1")" "$root"
examples=$root/usr/share/doc/libgpuvision-dev/examples
manual=$root/usr/share/doc/libgpuvision-doc/html/index.html
libraries=$(dirname "$root"/usr/lib/*/libgpuvision.so.1)
export GST_REGISTRY=$folder/registry PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$examples/python
if [[ $root ]]; then
    export LD_LIBRARY_PATH=$libraries GST_PLUGIN_PATH=$libraries/gstreamer-1.0
    export GST_PRESET_PATH=$root/usr/share/gstreamer-1.0/presets
    export PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
fi

die() { printf 'package_smoke.sh: %s\n' "$*" >&2; exit 1; }
has() { # FILE TEXT: the file has the text
    grep -qF -- "$2" "$1" || { cat "$1" >&2; die "'$2' is missing in what is above"; }
}
ok() { printf 'ok: %s\n' "$*"; }

[[ -d $examples ]] || die "the packages were built without $examples (nodoc?)"

while read -r element preset; do
    gst-inspect-1.0 "$element" >"$folder/inspected" || die "there is no element $element"
    file=$(sed -n 's/^ *Filename *//p' "$folder/inspected")
    [[ $file -ef $libraries/gstreamer-1.0/libgstgpuvision.so ]] || die "$element is of '$file'"
    has "$folder/inspected" "\"$preset\""
    ok "$element, with its presets"
done <<'END'
gpuerode remove-specks
gpuccl count-objects
gpukmeans poster
gpusift find-picture
gpugraphcut cut-out
END

# The last element says something of each frame that has come through all.
gst-launch-1.0 -m videotestsrc num-buffers=$frames pattern=ball ! \
    video/x-raw,format=RGB,width=320,height=240 ! gpuerode @preset=remove-specks ! \
    gpuccl @preset=count-objects ! gpukmeans clusters=4 ! gpusift overlay=rich ! \
    gpugraphcut post-messages=true ! fakesink >"$folder/launched" 2>&1 ||
    { cat "$folder/launched" >&2; die "the five elements do not run"; }
found=$(grep -c '(element): gpugraphcut' "$folder/launched") || true
[[ $found == "$frames" ]] || { cat "$folder/launched" >&2; die "$found of $frames frames came through"; }
ok "$frames frames through all five elements"

# Without quotes, as everybody writes it.
compile() { # COMPILER SOURCE PROGRAM
    $1 "$2" -o "$3" $(pkg-config --cflags --libs gpuvision) || die "$2 does not compile"
}
compile cc "$examples/erode.c" "$folder/erode"
compile cc "$examples/ccl.c" "$folder/ccl"
# Twelve discs, six of them of 400 pixels or more.
/usr/bin/python3 - >"$folder/drawn.pgm" <<'END'
import sys
discs = [(x % 40 - 20) ** 2 + (y % 40 - 20) ** 2 <= (4 + x // 40 * 4) ** 2 for y in range(120) for x in range(160)]
sys.stdout.buffer.write(b"P5\n160 120\n255\n" + bytes(230 if disc else 30 for disc in discs))
END
"$folder/erode" 3 "$folder/drawn.pgm" "$folder/eroded.pgm" >"$folder/said"
has "$folder/said" "160 x 120 pixels, radius 3, on "
! cmp -s "$folder/drawn.pgm" "$folder/eroded.pgm" || die "erode.c erodes nothing"
"$folder/ccl" 128 400 "$folder/drawn.pgm" "$folder/components.ppm" >"$folder/said"
has "$folder/said" "160 x 120 pixels, 6 components, on "
ok "C programs, built with pkg-config"

/usr/bin/python3 "$examples/python/erode.py" 3 "$folder/drawn.pgm" "$folder/by-python.pgm" >/dev/null
cmp "$folder/eroded.pgm" "$folder/by-python.pgm"
compile "c++ -std=c++20" "$examples/cpp/five.cpp" "$folder/five"
"$folder/five" "$folder/components.ppm" "$folder/cpp" >"$folder/cpp-said"
/usr/bin/python3 "$examples/python/five.py" "$folder/components.ppm" "$folder/python" >"$folder/python-said"
cmp "$folder/cpp-said" "$folder/python-said"
diff -r "$folder/cpp" "$folder/python"
ok "C++ and Python, which find and write the same"

[[ -s $manual ]] || die "there is no $manual"
has "$manual" gpuvision
ok "the documentation"
