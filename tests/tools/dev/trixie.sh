# SPDX-License-Identifier: BSD-2-Clause
# ./dev trixie: the elements with the GStreamer of Debian 13.
. tests/tools/dev/package_lists.sh
. tests/tools/dev/roots.sh
. tests/tools/dev/steps.sh

trixie_root=build-trixie/root
trixie_build=build-trixie/build
in_trixie() { run "${as_root[@]}" tests/tools/in_root.sh "$trixie_root" "$@"; }
# With its packages. What is built there is then made anew.
make_trixie() {
    local list=build-trixie/packages wanted="${trixie_packages[*]}"
    [[ $(cat "$list" 2>/dev/null) != "$wanted" ]] || return 0
    need "${root_packages[@]}"
    run "${as_root[@]}" rm -rf --one-file-system build-trixie
    make_root trixie "$trixie_root" "$wanted"
    printf '%s\n' "$wanted" >"$list"
}
# nvcc of this machine does not run there, but what gstreamer-cuda needs of CUDA is headers.
check_cuda_in_trixie() {
    local flags='-fsyntax-only -Wall -Wextra -Werror -Wno-missing-field-initializers -Iinclude'
    flags+=' -isystem /mnt -DGST_USE_UNSTABLE_API $(pkg-config --cflags gstreamer-cuda-1.0'
    flags+=' gstreamer-check-1.0 gstreamer-controller-1.0 gstreamer-video-1.0)'
    in_trixie sh -c "g++ -std=c++20 $flags gst/gstgpuvisioncuda.cpp" &&
        in_trixie sh -c "gcc $flags -DHAVE_GST_CUDA -DGPV_TEST_PHOTOGRAPH='\"\"' \
            -Itests/simt tests/gst/chain.c tests/gst/cuda.c tests/gst/device_memory_full.c tests/gst/live.c \
            tests/gst/device_lost.c tests/gst/streams.c tests/gst/transfers.c"
}
# What the tests below need, and no more.
build_in_trixie() {
    local programs="ninja -C $trixie_build -t targets all | sed -nE 's,^(tests/(gst|unit)/[a-z_-]+): .*,\\1,p'"
    [[ -f $trixie_build/build.ninja ]] || in_trixie meson setup "$trixie_build" -Dcuda=disabled &&
        in_trixie sh -c "ninja -C $trixie_build gst/libgstgpuvision.so \$($programs)"
}
dev_trixie() {
    local log=$trixie_build/meson-logs/testlog.json
    become_root trixie
    make_trixie
    steps=build-trixie/steps.json
    logs=("$steps")
    : >"$steps"
    if command -v nvcc >/dev/null; then
        step 'CUDAMemory, its headers' check_cuda_in_trixie || true
    else
        say "There is no nvcc: the C++ side of CUDAMemory is not looked at."
    fi
    rm -f "$log"
    if step 'build in Debian 13' build_in_trixie; then
        logs+=("$log")
        in_trixie meson test -C "$trixie_build" --no-rebuild --print-errorlogs \
            --suite gst --suite unit || ended_badly "$trixie_build" "$log"
    fi
    results summary "${logs[@]}"
}
