# SPDX-License-Identifier: BSD-2-Clause
# ./dev releases: the elements with the GStreamer of other releases than this machine's.
. tests/tools/dev/package_lists.sh
. tests/tools/dev/roots.sh
. tests/tools/dev/steps.sh

releases=(ubuntu24.04 debian13 forky)
in_release() { # RELEASE COMMAND...
    run "${as_root[@]}" tests/tools/in_root.sh "build-releases/$1/root" "${@:2}"
}
# nvcc of this machine does not run there, but what gstreamer-cuda needs of CUDA is headers.
check_cuda_in_release() { # RELEASE
    local flags='-fsyntax-only -Wall -Wextra -Werror -Wno-missing-field-initializers -Iinclude'
    flags+=' -isystem /mnt -DGST_USE_UNSTABLE_API $(pkg-config --cflags gstreamer-cuda-1.0'
    flags+=' gstreamer-check-1.0 gstreamer-controller-1.0 gstreamer-video-1.0)'
    in_release "$1" sh -c "g++ -std=c++20 $flags gst/gstgpuvisioncuda.cpp" &&
        in_release "$1" sh -c "gcc $flags -DHAVE_GST_CUDA -DGPV_TEST_PHOTOGRAPH='\"\"' \
            -Itests/simt tests/gst/chain.c tests/gst/cuda.c tests/gst/device_memory_full.c tests/gst/live.c \
            tests/gst/device_lost.c tests/gst/streams.c tests/gst/transfers.c"
}
# What the tests below need, and no more.
build_in_release() { # RELEASE
    local build=build-releases/$1/build
    local programs="ninja -C $build -t targets all | sed -nE 's,^(tests/(gst|unit)/[a-z_-]+): .*,\\1,p'"
    [[ -f $build/build.ninja ]] || in_release "$1" meson setup "$build" -Dcuda=disabled &&
        in_release "$1" sh -c "ninja -C $build gst/libgstgpuvision.so \$($programs)"
}
test_in_release() { # RELEASE
    local build=build-releases/$1/build
    local log=$build/meson-logs/testlog.json
    step "$1: its packages" release_root "$1" || return
    if command -v nvcc >/dev/null; then
        step "$1: CUDAMemory, its headers" check_cuda_in_release "$1" || true
    else
        say "There is no nvcc: the C++ side of CUDAMemory is not looked at."
    fi
    rm -f "$log"
    if step "$1: build" build_in_release "$1"; then
        logs+=("$log")
        in_release "$1" meson test -C "$build" --no-rebuild --print-errorlogs \
            --suite gst --suite unit || ended_badly "$build" "$log"
    fi
}
dev_releases() { # [RELEASE...]
    local release
    for release; do check_release releases "$release" "${releases[@]}"; done
    (($#)) || set -- "${releases[@]}"
    become_root releases
    mkdir -p build-releases
    steps=build-releases/steps.json
    logs=("$steps")
    : >"$steps"
    for release; do
        test_in_release "$release" || true
    done
    results summary "${logs[@]}"
}
