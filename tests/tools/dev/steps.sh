# SPDX-License-Identifier: BSD-2-Clause
# The steps of a command, each of which is counted in its last lines, with the tests that Meson has logged.

# Those of ./dev test. Other commands have files of their own.
steps=build/meson-logs/dev-steps.json
logs=("$steps")
step() { # NAME COMMAND...
    local result=OK begun=$SECONDS
    "${@:2}" || result=FAIL
    say "dev: $1: $result, $((SECONDS - begun)) s"
    printf '{"name": "dev: %s", "result": "%s", "duration": %d}\n' \
        "$1" "$result" $((SECONDS - begun)) >>"$steps"
    [[ $result == OK ]]
}

add_failure() { # NAME
    printf '{"name": "dev: %s", "result": "FAIL"}\n' "$1" >>"$steps"
}
# When Meson ends with an error, that is a failure even if its log has none.
ended_badly() { # FOLDER LOG
    grep -qE '"result": "(FAIL|ERROR|TIMEOUT|INTERRUPT|UNEXPECTEDPASS)"' "$2" 2>/dev/null ||
        add_failure "meson in $1"
}
