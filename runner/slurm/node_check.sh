#!/bin/bash
# Checks a node for `runner doctor --on slurm`: node_check.sh RUNNER FOLDER PYTHON
# Writes FOLDER/NODE.answer, a line for each check: its name, ok or why not.
runner=$1 folder=$2 python=$3
node=${SLURMD_NODENAME:-$(hostname -s)}
cd "$folder" 2>/dev/null || { echo "the node does not see $folder"; exit 1; }
{
    [ "$(cat seen 2>/dev/null)" = yes ] && echo "folder ok" || echo "folder it lacks what was written on this host"
    # This host holds the lock: a node that gets it has locks of its own.
    if ! command -v flock >/dev/null; then
        echo "flock the node has no flock(1) (util-linux)"
    elif flock --nonblock lock true; then
        echo "flock the node does not see locks of other hosts"
    else
        echo "flock ok"
    fi
    echo yes >"$node.new" && mv "$node.new" "$node.renamed" && echo "rename ok" || echo "rename the node cannot write or rename there"
    said=$("$runner" --version 2>&1) && echo "runner ok" || echo "runner ${said##*$'\n'}"
    if [ -n "$python" ]; then
        said=$("$python" -c 'import torch' 2>&1) && echo "python ok" || echo "python ${said##*$'\n'}"
    fi
} >"$node.answer.new" 2>/dev/null
mv "$node.answer.new" "$node.answer"
