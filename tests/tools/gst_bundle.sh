#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# gst_bundle.sh [--suite bookworm|noble|trixie|forky] [--libc] [--nvrtc] OUT: a GStreamer of that release, bookworm
# unless said, to carry to a host that has none, nor a network or root: libraries, plugins, tools, headers and
# pkg-config files. OUT is a .tar.xz, which is unpacked in /tmp, or a folder. Sourcing its env.sh puts it first.
#
# --libc   carries libc and libstdc++ as well, for hosts whose own are too old: Ubuntu 24.04 needs it for forky,
#          Debian 12 for all but bookworm. Such a bundle works in one place alone: /tmp/gst, or the folder.
# --nvrtc  carries NVRTC 12, for cudaconvert and cudascale before GStreamer 1.26.3: they ask for compute_52, which
#          that of CUDA 13 does not know.
#
# It needs no root, and leaves the system's apt as it is. What it downloads stays in build-bundle. Where there is no
# network, and has been none, it ends with 77.
set -euo pipefail

caller=$PWD
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/tools/dev/common.sh
. tests/tools/dev/package_lists.sh
die() { printf 'gst_bundle.sh: %s\n' "$*" >&2; exit 1; }

triplet=x86_64-linux-gnu
tools=(gst-launch-1.0 gst-inspect-1.0 gst-typefind-1.0 gst-stats-1.0)
plugins=(alpha analyticsoverlay app audioconvert audioresample audiotestsrc autodetect avi cairo compositor
    coreelements coretracers debug debugutilsbad imagefreeze inter isomp4 ivfparse jpeg jpegformat legacyrawparse
    matroska multifile nvcodec openh264 pbtypes playback png pnm proxy rawparse rtp rtpmanager rtsp typefindfunctions
    udp videobox videoconvertscale videocrop videofilter videomixer videoparsersbad videorate videotestsrc vpx wavenc
    wavparse y4m y4mdec y4menc)
# What not every release has.
optional=(analyticsoverlay gstreamer-analytics-1.0 y4m y4mdec y4menc)
# What programs are linked with, beside what the plugins need.
libraries=(libgstcheck-1.0.so.0 libgstcontroller-1.0.so.0 libgstcuda-1.0.so.0 libgstrtspserver-1.0.so.0)
modules=(gstreamer-{,app-,audio-,base-,check-,controller-,cuda-,net-,pbutils-,rtp-,rtsp-}1.0
    gstreamer-{analytics,rtsp-server,sdp,tag,video}-1.0 {gio,glib,gmodule,gmodule-export,gmodule-no-export,gobject}-2.0
    orc-0.4)
headers=(GL KHR glib-2.0 gstreamer-1.0 orc-0.4)
# Names of packages here and below are regular expressions: they differ in the releases.
packages=('gstreamer1.0-plugins-(base|good|bad)' gstreamer1.0-tools 'libgstreamer1.0-(0|dev)'
    'libgstreamer-plugins-(base|bad)1.0-(0|dev)' libgstreamer-gl1.0-0 'libgstrtspserver-1.0-(0|dev)'
    'libglib2.0-(0|0t64|dev)' libgio-2.0-dev liborc-0.4-dev 'libe?gl-dev' pkgconf-bin)
# What programs of the host load, and what is linked into ours, is Debian 12's: it asks for no newer libc.
common_packages=(check 'lib(hwy|subunit|tbb)-dev' libhwy1 libsubunit0 libtbb12 libtbbmalloc2)
common_libraries=(libhwy.so.1 libsubunit.so.0 libtbb.so.12 libtbbmalloc.so.2)
common_modules=(check libhwy libsubunit tbb)
common_headers=(check.h check_stdint.h hwy oneapi subunit tbb)
# The host has these, unless they are carried.
libc_packages=(libc6 'libstdc\+\+6' libgcc-s1)
libc_libraries=(ld-linux-x86-64.so.2 lib{c.so.6,m.so.6,mvec.so.1,dl.so.2,rt.so.1,pthread.so.0,resolv.so.2,util.so.1}
    libstdc++.so.6 libgcc_s.so.1)
nvrtc=nvidia-cuda-nvrtc-cu12==12.0.76 # the smallest

apt() { # PROGRAM COMMAND...: of the suite in use; it knows nothing of what is installed
    "apt-$1" -qq -o Dir::State="$store/state" -o Dir::State::status=/dev/null -o Dir::Cache="$store/cache" \
        -o Dir::Etc::sourcelist="$store/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
        -o APT::Update::Error-Mode=any "${@:2}"
}
use_suite() { # SUITE
    local keys=/usr/share/keyrings debian=http://deb.debian.org ubuntu=http://archive.ubuntu.com/ubuntu signed sources
    signed="[arch=amd64 signed-by=$keys/debian-archive-keyring.gpg]"
    sources=("$debian/debian $1 main" "$debian/debian $1-updates main" "$debian/debian-security $1-security main")
    if [[ $1 == noble ]]; then
        ubuntu_keys
        signed="[arch=amd64 signed-by=$keys]"
        sources=("$ubuntu noble main universe" "$ubuntu noble-updates main universe")
    fi
    store=$PWD/build-bundle/$1 root=$work/$1
    mkdir -p "$store"/{state/lists/partial,cache/archives/partial,debs} "$root"
    printf "deb $signed %s\n" "${sources[@]}" >"$store/sources.list"
    apt get update || say "The package lists of $1 are old; trying with them."
    [[ $(apt cache pkgnames libgstreamer) ]] || { say "No package of $1 can be had (no network?)."; exit 77; }
}
# Debian 12 has no package of Ubuntu's keys: Debian 13's is taken.
ubuntu_keys() {
    local file=ubuntu-archive-keyring.gpg
    [[ ! -f $keys/$file ]] || { keys+=/$file; return; }
    use_suite trixie
    unpack ubuntu-keyring
    keys=$root$keys/$file
}
unpack() { # NAME...: the packages of these names into the root of the suite in use
    local names file files
    names=$(IFS='|' && apt cache search --names-only "^($*)$" | sed 's/ .*//')
    [[ $names ]] || return 0
    files=$(cd / && apt get download --print-uris $names | awk '{ print $2 }')
    (cd "$store/debs" && { ls $files &>/dev/null || apt get download $names; })
    for file in $files; do
        dpkg-deb -x "$store/debs/$file" "$root"
    done
}
library() { # SONAME: where it is, if it is there
    local folder
    for folder in "$root"/{usr/lib,lib}/"$triplet"; do
        [[ ! -e $folder/$1 ]] || { say "$folder/$1"; return; }
    done
}
package_of() { # SONAME: the name of its package
    local stem=${1%.so.*}
    stem=${stem,,}
    case $1 in
    libbrotli*) say libbrotli1 ;;
    libGLdispatch.*) say libglvnd0 ;;
    libjpeg.*) say 'libjpeg(62)?-turbo8?' ;;
    libz.*) say zlib1g ;;
    *) say "${stem//_/-}-?${1##*.so.}(t64|[a-z])?" ;;
    esac
}
take_libraries() { # SONAME...
    local name path
    for name; do
        path=$(library "$name")
        [[ $path ]] || die "$name is in no package of this name: $(package_of "$name")"
        cp -L "$path" "$bundle/lib/$name"
    done
}
binaries() { find "$bundle"/{bin,lib} -type f \( -path '*/bin/*' -o -name '*.so*' \) "$@"; }
missing_libraries() {
    comm -23 <(binaries -exec objdump -p {} + | awk '$1 == "NEEDED" { print $2 }' | sort -u) \
        <({ ls "$bundle/lib"; printf '%s\n' "${libc_libraries[@]}"; } | sort)
}
# Each round adds what the libraries of the one before it need.
complete() {
    local name names wanted
    while names=$(missing_libraries) && [[ $names ]]; do
        wanted=()
        for name in $names; do
            [[ $(library "$name") ]] || wanted+=("$(package_of "$name")")
        done
        ((!${#wanted[@]})) || unpack "${wanted[@]}"
        take_libraries $names
    done
}
take_tools() {
    local tool
    for tool in "${tools[@]}"; do
        cp "$root/usr/bin/$tool" "$bundle/bin/"
    done
    cp "$(find "$root/usr" -name gst-plugin-scanner -type f)" "$bundle/bin/"
    cp "$root/usr/bin/pkgconf" "$bundle/bin/pkg-config"
}
may_lack() { [[ " ${optional[*]} " == *" $1 "* ]] || die "$suite has no $1"; }
take_plugins() {
    local plugin file
    for plugin in "${plugins[@]}"; do
        file=$root/usr/lib/$triplet/gstreamer-1.0/libgst$plugin.so
        if [[ -f $file ]]; then cp "$file" "$bundle/lib/gstreamer-1.0/"; else may_lack "$plugin"; fi
    done
}
take_headers() { cp -a "${@/#/$root/usr/include/}" "$bundle/include/"; } # NAME...
take_modules() { # NAME...
    local name file flags
    for name; do
        file=$(find "$root/usr" -name "$name.pc")
        [[ $file ]] || { may_lack "$name"; continue; }
        flags=
        # A run path of the old kind also holds for what the libraries load.
        [[ $name != @(glib-2.0|libhwy|tbb) ]] || flags=' -Wl,--disable-new-dtags -Wl,-rpath,${libdir}'
        # Only what is GStreamer's gets the loader that is carried: other programs, and the libraries, are the host's.
        [[ ! $libc || $name != glib-2.0 ]] ||
            flags+=" -Wl,-rpath,$place/lib/libc -Wl,--dynamic-linker=$loader -Wl,--allow-shlib-undefined"
        sed -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^libdir=.*|libdir=${prefix}/lib|' \
            -e 's|^includedir=.*|includedir=${prefix}/include|' -e "s|\${libdir}/$triplet|\${libdir}|g" \
            -e 's/, *gstreamer-gl-prototypes-1.0 *>= *[0-9.]*//' -e '/^Requires.private:/d' -e '/^Libs.private:/d' \
            -e 's|-I${libdir}/\(gstreamer-1.0\|glib-2.0\)/include||' -e "s|^Libs:|&$flags|" \
            "$file" >"$bundle/lib/pkgconfig/$name.pc"
    done
}
# The bundle's programs and libraries find each other wherever it lies.
set_run_paths() {
    binaries -exec strip --strip-unneeded {} +
    patchelf --force-rpath --set-rpath '$ORIGIN' $(find "$bundle/lib" -maxdepth 1 -name '*.so.*' -type f)
    patchelf --force-rpath --set-rpath '$ORIGIN/..' "$bundle"/lib/gstreamer-1.0/*.so
    patchelf --force-rpath --set-rpath "\$ORIGIN/../lib${libc:+:\$ORIGIN/../lib/libc}" "$bundle"/bin/*
    [[ ! $libc ]] || patchelf --set-interpreter "$loader" "$bundle"/bin/*
}
# Of each library also the name that linkers look for.
link_libraries() {
    local file
    for file in "$bundle"/lib/*.so.*; do
        ln -s "${file##*/}" "${file%%.so.*}.so"
    done
}
take_types() {
    cp -r "$root/usr/share/mime" "$bundle/share/"
    XDG_DATA_DIRS=$bundle/share update-mime-database "$bundle/share/mime"
    rm -r "$bundle/share/mime/packages"
}
take_libc() {
    local name
    unpack "${libc_packages[@]}"
    mkdir "$bundle/lib/libc"
    for name in "${libc_libraries[@]}"; do
        cp -L "$(library "$name")" "$bundle/lib/libc/"
    done
}
take_nvrtc() {
    local folder=build-bundle/nvrtc-${nvrtc##*=} file
    grep -q GST_CUDA_NVRTC_LIBNAME "$bundle/lib/libgstcuda-1.0.so.0" || die "GStreamer of $suite takes no other NVRTC"
    ls "$folder"/*.whl &>/dev/null || run "$python" -m pip download -q --no-deps -d "$folder" "$nvrtc"
    "$python" -m zipfile -e "$folder"/*.whl "$work/nvrtc"
    for file in "$work"/nvrtc/nvidia/cuda_nvrtc/lib/*.so.*; do
        patchelf --force-rpath --set-rpath '$ORIGIN' "$file"
        mv "$file" "$bundle/lib/"
    done
}
write_env() {
    cat >"$bundle/env.sh" <<'END'
# To be sourced by bash: puts this GStreamer first. What is linked by its pkg-config files finds it.
GSTB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GSTB PATH=$GSTB/bin:$PATH
export GST_PLUGIN_SYSTEM_PATH=$GSTB/lib/gstreamer-1.0 GST_PLUGIN_SCANNER=$GSTB/bin/gst-plugin-scanner
export XDG_DATA_DIRS=$GSTB/share:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}
export PKG_CONFIG_PATH=$GSTB/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
END
    say "export GST_REGISTRY=\${TMPDIR:-/tmp}/gst-registry-\$(id -u)-$suite.bin" >>"$bundle/env.sh"
    [[ ! $with_nvrtc ]] || say 'export GST_CUDA_NVRTC_LIBNAME=$GSTB/lib/libnvrtc.so.12' >>"$bundle/env.sh"
    [[ ! $libc ]] || say "[[ \$GSTB == $place ]] || { echo 'This GStreamer works in $place alone.' >&2; false; }" \
        >>"$bundle/env.sh"
}
make_bundle() {
    mkdir -p "$bundle"/{bin,include,lib/gstreamer-1.0,lib/pkgconfig,share}
    use_suite bookworm
    unpack "${common_packages[@]}"
    take_libraries "${common_libraries[@]}"
    take_headers "${common_headers[@]}"
    take_modules "${common_modules[@]}"
    cp "$root/usr/lib/$triplet/libcheck_pic.a" "$bundle/lib/"

    use_suite "$suite"
    unpack "${packages[@]}"
    take_tools
    take_plugins
    take_libraries "${libraries[@]}"
    take_headers "${headers[@]}"
    take_modules "${modules[@]}"
    cp -a "$root/usr/lib/$triplet"/glib-2.0/include/. "$bundle/include/glib-2.0/"
    cp -a "$root/usr/lib/$triplet"/gstreamer-1.0/include/. "$bundle/include/gstreamer-1.0/"
    [[ ! -d $root/usr/share/mime ]] || take_types
    complete
    set_run_paths
    [[ ! $libc ]] || take_libc
    link_libraries
    [[ ! $with_nvrtc ]] || take_nvrtc
    write_env
}
# Wherever the bundle lies meanwhile.
in_bundle() { # PROGRAM ARGUMENT...
    ${libc:+"$bundle/lib/libc/${loader##*/}"} "$bundle/bin/$1" "${@:2}"
}
try_bundle() {
    local plugin faults=0 here wanted
    here=$(getconf GNU_LIBC_VERSION | sed 's/.* //')
    wanted=$(binaries -not -path '*/libc/*' -exec objdump -T {} + | grep -o 'GLIBC_2[0-9.]*' | sort -Vu | tail -n 1)
    wanted=${wanted#*_}
    if [[ ! $libc ]] && ! printf '%s\n' "$wanted" "$here" | sort -VC; then
        say "It is for hosts with a libc from $wanted on; here, with $here, it is not seen whether its plugins load."
        return
    fi
    PKG_CONFIG_LIBDIR=$bundle/lib/pkgconfig in_bundle pkg-config --print-errors --exists \
        $(ls "$bundle/lib/pkgconfig" | sed 's/\.pc$//')
    for plugin in "$bundle"/lib/gstreamer-1.0/*.so; do
        GST_REGISTRY=$work/registry GST_PLUGIN_SYSTEM_PATH='' in_bundle gst-inspect-1.0 "$plugin" >"$work/said" 2>&1 ||
            { say "${plugin##*/} cannot be loaded:"; cat "$work/said"; faults=1; }
    done
    ((!faults)) || die "not all plugins can be loaded"
}

suite=bookworm libc='' with_nvrtc='' out=''
while (($#)); do
    case $1 in
    --suite)
        [[ ${2-} == @(bookworm|noble|trixie|forky) ]] || die "--suite takes bookworm, noble, trixie and forky"
        suite=$2
        shift
        ;;
    --libc) libc=1 ;;
    --nvrtc) with_nvrtc=1 ;;
    -*) die "there is no option '$1'" ;;
    *) out=$(cd "$caller" && realpath -m "$1") ;;
    esac
    shift
done
[[ $out ]] || die "which file, or folder, is to be made?"
place=$out
[[ $out != *.tar.xz ]] || place=/tmp/gst
[[ $out == *.tar.xz || ! -e $out || -f $out/env.sh ]] || die "$out is something else"
# Of gdk-pixbuf forky's starts programs, glycin's, of the host to read a picture.
if [[ $suite != forky ]]; then
    packages+=('libgdk-pixbuf-2.0-(0|dev)' shared-mime-info)
    libraries+=(libgdk_pixbuf-2.0.so.0)
    modules+=(gdk-pixbuf-2.0)
    headers+=(gdk-pixbuf-2.0)
fi
need binutils debian-archive-keyring patchelf shared-mime-info xz-utils ${with_nvrtc:+python3-pip}
mkdir -p build-bundle "${out%/*}"
work=$(mktemp -d -p "$PWD/build-bundle")
trap 'rm -rf "$work"' EXIT
bundle=$work/gst loader=$place/lib/libc/${libc_libraries[0]}
make_bundle
try_bundle
rm -rf "$out"
if [[ $out == *.tar.xz ]]; then
    XZ_OPT=-T0 tar -C "$work" --owner=0 --group=0 --sort=name -cJf "$out" gst
else
    mv "$bundle" "$out"
fi
du -sh "$out"
