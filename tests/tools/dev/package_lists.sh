# SPDX-License-Identifier: BSD-2-Clause
# The packages of Debian and Ubuntu that commands need, and how they are installed.

# Meson asks dpkg-dev where libraries belong.
demo_packages=(g++ meson ninja-build pkgconf python3 dpkg-dev libtbb-dev libhwy-dev
    libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-x
    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad)
docs_packages=(doxygen mkdocs python3-pygments python3-numpy python3-gi gir1.2-gstreamer-1.0)
test_packages=("${docs_packages[@]}" python3-venv check clang libclang-rt-dev llvm clang-format abigail-tools
    libopencv-imgproc-dev libopencv-features2d-dev libboost-graph-dev libgdk-pixbuf-2.0-dev
    gstreamer1.0-gl python3-scipy xvfb python3-pil python3-pip cargo rustfmt golang-go cmake valgrind
    libgstrtspserver-1.0-dev)
# What ./dev releases builds with.
release_packages=("${demo_packages[@]}" libgstreamer-plugins-bad1.0-dev
    libgstrtspserver-1.0-dev check)
package_packages=("${demo_packages[@]}" "${docs_packages[@]}" build-essential debhelper lintian
    libgstreamer-plugins-bad1.0-dev)
# For a root in which packages are tried. They bring what they need themselves.
package_root_packages=(g++ gstreamer1.0-plugins-base gstreamer1.0-tools pkgconf python3-numpy)
# The demo's decoder of H.264, where GStreamer has no openh264dec.
h264_packages=(gstreamer1.0-libav)
# What makes a root of Debian, and what ./dev fresh needs beside it, here and in the bare root.
root_packages=(mmdebstrap debian-archive-keyring)
fresh_packages=(git "${root_packages[@]}")
fresh_root_packages=(git ca-certificates)
# Where nvcc is, the CUDA side of GStreamer is built as well.
! command -v nvcc >/dev/null || demo_packages+=(libgstreamer-plugins-bad1.0-dev)

# Installs the packages that are missing; needs no network when none is.
need() {
    if ! command -v dpkg-query >/dev/null; then
        say "No Debian or Ubuntu: nothing is installed; needed are, by their names there: $*"
        return
    fi
    local package missing=() root=()
    for package; do
        dpkg-query -Wf '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    local install=(apt-get install -y --no-install-recommends "${missing[@]}")
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "missing packages, and no sudo to install them. As root:
    apt-get update && ${install[*]}"
        root=(sudo)
    fi
    # A package list that cannot be refreshed (a third party's, say) need not hold us up.
    run "${root[@]}" apt-get update || say "dev: some package lists are old; trying with them"
    run "${root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" ||
        die "the packages above could not be installed (no network? Ubuntu: is 'universe' enabled?)"
}
