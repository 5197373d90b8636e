#!/bin/bash
# Runs one shard of a plan as an element of an array job of Slurm (`runner SUITE --on slurm`):
#   shard.sh RUNNER FOLDER RESULTS SETUP
# FOLDER has the plan and gets small files that say where the shard started. Slurm starts an element
# again after its node failed, or a job of higher priority took it. A shard under which nodes failed
# twice does not go on, since it may be what breaks them.
runner=$1 folder=$2 results=$3 setup=$4
shard=$SLURM_ARRAY_TASK_ID restart=${SLURM_RESTART_COUNT:-0}

# Whether the node that start number $1 ran on failed: Slurm says that it is down, or its daemon has
# begun anew since. Otherwise the shard was preempted, or somebody requeued it.
node_failed() {
    local start="$folder/shard-$shard.$1.node" node
    node=$(cat "$start" 2>/dev/null) || return 1
    local facts state since
    facts=$(scontrol --oneliner show node "$node") || return 1
    state=${facts#* State=} since=${facts#* SlurmdStartTime=}
    case ${state%% *} in *DOWN* | *NOT_RESPONDING* | *FAIL*) return 0 ;; esac
    [ "$(date -d "${since%% *}" +%s 2>/dev/null || echo 0)" -gt "$(stat -c %Y "$start")" ]
}

((restart > 0)) && node_failed $((restart - 1)) &&
    touch "$folder/shard-$shard.$((restart - 1)).failed"
failed=()
for file in "$folder/shard-$shard."*.failed; do
    [ -e "$file" ] && failed+=("$(cat "${file%.failed}.node")")
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
# Failed tests are no failure of the element.
((code == 1)) && exit 0
exit $code
