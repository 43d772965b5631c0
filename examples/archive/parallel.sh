#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The shards of a plan on this machine, by GNU parallel: a worker for each GPU, or else for each processor.
#
#     parallel.sh DIR [WORKERS]
#
# CUDA_VISIBLE_DEVICES, where it is set, says which GPUs. The exit status is that of archive.py status.
set -euo pipefail
archive=$(dirname "$(readlink -f "$0")")/archive.py
top=${1?usage: parallel.sh DIR [WORKERS]}
shards=$(wc -l <"$top/shards.jsonl")
there=$(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU \([0-9]*\).*/\1/p' | paste -sd,) || there=
IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES-$there}"
workers=${2:-$((${#gpus[@]} ? ${#gpus[@]} : $(nproc)))}
[[ -t 2 ]] && bar=--bar || bar=
work() { # SHARD SLOT GPU...
    local shard=$1 slot=$2 code=0
    shift 2
    (($# == 0)) || export CUDA_VISIBLE_DEVICES=${*:(slot - 1) % $# + 1:1}
    python3 "$archive" work "$top" "$shard" || code=$?
    # 65: the manifest says what is wrong with the input.
    ((code == 0 || code == 65)) || { sleep 2; return "$code"; }
}
export -f work
export archive top
seq 0 $((shards - 1)) |
    parallel --plain --jobs "$workers" --retries 5 $bar work {} {%} "${gpus[@]}" >/dev/null || true
exec python3 "$archive" status "$top"
