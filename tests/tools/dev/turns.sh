# SPDX-License-Identifier: BSD-2-Clause
# What takes long and tells least is shared out among commits. Which share has its turn follows from the
# commit; --full has all.

find_turn() {
    local commit
    if [[ ! ${GPV_TEST_TURN-} ]]; then
        commit=$(git rev-parse HEAD 2>/dev/null) && GPV_TEST_TURN=$((16#${commit:0:7})) ||
            GPV_TEST_TURN=$(date +%-j)
    fi
    [[ $GPV_TEST_TURN =~ ^(0|[1-9][0-9]{0,8})$ ]] ||
        die "GPV_TEST_TURN has to be a whole number, but is '$GPV_TEST_TURN'"
    export GPV_TEST_TURN
    say "dev: what takes turns is that of GPV_TEST_TURN=$GPV_TEST_TURN"
}
# In the last 20 commits; also where nobody knows, as their history is not there.
changed_of_late() { # PATH...
    ! git diff --quiet HEAD~20 -- "$@" 2>/dev/null
}
# Whether one in three has its turn, or what it reads has changed.
has_turn() { # NUMBER PATH...
    [[ $full ]] || ((GPV_TEST_TURN % 3 == $1)) || changed_of_late "${@:2}"
}
