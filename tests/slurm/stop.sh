#!/usr/bin/env bash
# Ends the Slurm that start.sh started in DIR: stop.sh DIR
set -u
dir=$(realpath "$1")
export SLURM_CONF=$dir/slurm.conf
scancel --user="$(id -un)" 2>/dev/null
for _ in $(seq 50); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.2; done
for name in n[0-9]* ctld dbd mysql munged; do
    for file in "$dir"/$name.pid; do
        [ -f "$file" ] || continue
        pid=$(cat "$file")
        kill "$pid" 2>/dev/null
        for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    done
done
