#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The shards of a plan as an array job of Slurm's, of as many tasks as you like:
#
#     sbatch --array=0-15 slurm.sh /path/to/archive.py DIR
#
# Each task has a GPU, and does every sixteenth shard. --gres=none, before slurm.sh, is for the CPU.
#SBATCH --job-name=archive
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
archive=$1 top=$2
restarts=4
first=${SLURM_ARRAY_TASK_MIN?no array; give sbatch one, such as --array=0-15}
tasks=$SLURM_ARRAY_TASK_COUNT
if ((SLURM_ARRAY_TASK_MAX - first + 1 != tasks)); then
    echo "slurm.sh: the array has gaps; give sbatch one without, such as --array=0-15" >&2
    exit 2
fi
count_rows() { awk '/^[{]"shard"/ { n++ } END { print n + 0 }'; }
count=$(wc -l <"$top/shards.jsonl")
shard=$((SLURM_ARRAY_TASK_ID - first)) again=0
while ((shard < count)); do
    # 65: the manifest says what is wrong with the input.
    code=0
    rows=$(python3 "$archive" work "$top" "$shard" --every "$tasks" | count_rows) || code=$?
    ((code && code != 65)) || break
    again=$code
    # Another process does those behind the shard that has ended this one, which has no row if it crashed.
    ended=$((rows + (code > 128)))
    ((ended)) || break
    shard=$((shard + ended * tasks))
done
# 2: the arguments are wrong, on any node.
((again && again != 2)) || exit "$again"
# Another node may do better. What is done is not done again. SLURM_JOB_ID may be that of the whole array.
if ((${SLURM_RESTART_COUNT:-0} < restarts)); then
    exec scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$again"
