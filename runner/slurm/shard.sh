#!/bin/bash
# Runs one shard of a plan as an element of an array job of Slurm (`runner SUITE --on slurm`):
#   shard.sh RUNNER FOLDER RESULTS SETUP
# FOLDER has the plan and gets a file each time that the shard ends in order. Slurm starts an
# element again after its node failed; a shard whose nodes failed twice does not go on, since it may
# be what breaks them.
runner=$1 folder=$2 results=$3 setup=$4
shard=$SLURM_ARRAY_TASK_ID restart=${SLURM_RESTART_COUNT:-0}

failed=()
for ((i = 0; i < restart; i++)); do
    [ -e "$folder/shard-$shard.$i.ended" ] ||
        failed+=("$(cat "$folder/shard-$shard.$i.node" 2>/dev/null || echo '?')")
done
if ((${#failed[@]} > 1)); then
    echo "runner: nodes failed under this shard: ${failed[*]}; it is not started again"
    echo "${failed[*]}" >"$folder/shard-$shard.gave-up"
    exit 0
fi
echo "$SLURMD_NODENAME" >"$folder/shard-$shard.$restart.node"

# A node that lost only its network still runs the shard. The lock is on the shared file system.
exec 9>"$folder/shard-$shard.lock"
command -v flock >/dev/null && ! flock --timeout 900 9 &&
    echo "runner: another node still runs this shard"

if [ -n "$setup" ]; then
    # shellcheck disable=SC1090
    source "$setup" || { echo "runner: the setup script failed: $setup"; exit 2; }
fi
# Of the allocation, not of the machine. A --jobs of the plan goes before it.
export COMPAT_JOBS=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}

# Slurm sends SIGTERM before it kills: the runner stores what it has, then this script goes on.
trap : TERM
"$runner" run --plan "$folder/plan.json" --shard "$shard" --results "$results" \
    --progress plain 9>&-
code=$?
echo $code >"$folder/shard-$shard.$restart.ended"
# Failed tests are no failure of the element.
((code == 1)) && exit 0
exit $code
