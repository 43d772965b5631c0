# SPDX-License-Identifier: BSD-2-Clause
# Which tests of a build ./dev test runs, what is built for them, and the run.

full=           # whether all is to run
test_cxx=c++    # the compiler that has built the tests
test_in=()      # the command in which meson runs
test_options=() # and its options

# Before anything is built. With --full: the tests that have not passed on today's sources.
choose_tests() { # FOLDER [OPTION OF needed.py...]
    local choose=(needed.py names)
    [[ ! $full ]] || choose=(full.py left)
    CXX=$test_cxx "${test_in[@]}" "$python" "tests/tools/${choose[0]}" "${choose[@]:1}" "$@" >"$1/names"
}
# Builds all that the chosen tests need.
build_for_tests() { # FOLDER [OPTION OF needed.py...]
    run ninja -C "$1" build.ninja || return # as Meson's files may have changed
    choose_tests "$@" && "$python" tests/tools/needed.py targets "$@" >"$1/needed" &&
        run xargs -a "$1/needed" ninja -C "$1"
}
run_tests() { # FOLDER
    local name=testlog log
    [[ ! $full ]] || name=full
    log=$1/meson-logs/$name.json
    rm -f "$log"
    [[ -s $1/names ]] || return 0
    logs+=("$log")
    run xargs -a "$1/names" "${test_in[@]}" meson test -C "$1" --no-rebuild --print-errorlogs \
        --logbase "$name" "${test_options[@]}" || ended_badly "$1" "$log"
    [[ ! $full ]] || CXX=$test_cxx "${test_in[@]}" "$python" tests/tools/full.py keep "$1" ||
        add_failure "record of $1"
}
