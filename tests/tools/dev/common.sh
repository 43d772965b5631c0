# SPDX-License-Identifier: BSD-2-Clause
# What all commands of ./dev share.
#
# The files in this folder are bash. ./dev sources this one, and then the one of its command, which sources
# what else it needs; all that they run, they run in the top folder.

# nvcc is rarely on PATH; the CUDA backend is built where it is found.
command -v nvcc >/dev/null || [[ ! -x /usr/local/cuda/bin/nvcc ]] || PATH+=:/usr/local/cuda/bin
# Debian's own Python, not one that was put in front of it and lacks Debian's modules.
python=$([[ -x /usr/bin/python3 ]] && echo /usr/bin/python3 || echo python3)
results() { "$python" tests/tools/results.py "$@"; }

say() { printf '%s\n' "$*"; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }
run() { # shows the command, then runs it
    local word line=+
    for word; do
        [[ $word && $word != *[!A-Za-z0-9_.,:=+@%/-]* ]] || word=${word@Q}
        line+=" $word"
    done
    say "$line"
    "$@"
}

# configure FOLDER [OPTION...]: once, and again when these, packages or these scripts have changed since.
configure() {
    local folder=$1 made=$1/build.ninja options=$1/dev-options
    shift
    if [[ ! -f $made ]]; then
        run meson setup "$folder" "$@" || return
    elif [[ /var/lib/dpkg/status -nt $made || $(find dev tests/tools/dev -newer "$made") ||
        $(cat "$options" 2>/dev/null) != "$*" ]]; then
        run meson setup --reconfigure "$folder" "$@" || return
    fi
    echo "$*" >"$options"
}

# Of a build with another GStreamer's headers, which may be older than what they were compiled into.
forget_other_gstreamer() { # FOLDER
    local version
    version=$(pkg-config --modversion gstreamer-1.0 2>/dev/null) || version=none
    [[ $(cat "$1/gstreamer" 2>/dev/null) == "$version" ]] || rm -rf "$1"
    mkdir -p "$1"
    echo "$version" >"$1/gstreamer"
}

# The plugins of others, before a test sees what the scanner says of those that it cannot load.
scan_plugins() { # FOLDER
    rm -f "$1/gst/registry.bin"
    ! command -v gst-inspect-1.0 >/dev/null ||
        GST_REGISTRY=$PWD/$1/gst/registry.bin gst-inspect-1.0 &>"$1/plugins.log"
}
