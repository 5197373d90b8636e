#!/usr/bin/env bash
# Starts real Slurm with NODES nodes on this machine, for the tests of tests/slurm. Not for users.
#   tests/slurm/start.sh DIR [NODES] [--accounting]
# DIR gets everything: configuration, state, logs, pid files. stop.sh ends what is started here.
# Needs root, cgroup v1 or v2, and Debian's slurm-wlm and munge; --accounting also slurmdbd and
# mariadb-server. Missing packages are installed with apt-get.
#
# Each node has one CPU and 2000 MB, whatever this machine has. `p` is the default partition; jobs
# of `urgent` preempt those of `spare`, which are requeued, and those of `brief`, which are not.
# A node counts as down after 20 s, and its jobs may start again 10 s later. A job that is told to
# end is killed after 8 s, and forgotten 40 s after its end.
set -eu
dir=$(realpath -m "$1") nodes=${2:-4} accounting=${3:-}
packages=(slurm-wlm munge)
[ -z "$accounting" ] || packages+=(slurmdbd mariadb-server)
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package" \
            >/dev/null
done
mkdir -p "$dir"/{state,log}
for i in $(seq "$nodes"); do mkdir -p "$dir/spool-n$i"; done
host=$(hostname -s)

if ! pgrep -x munged >/dev/null; then
    mkdir -p /run/munge
    [ -f /etc/munge/munge.key ] || { head -c 1024 /dev/urandom >/etc/munge/munge.key; }
    chmod 400 /etc/munge/munge.key
    chown -R munge /run/munge /etc/munge /var/log/munge /var/lib/munge
    runuser -u munge -- munged --force
    cp /run/munge/munged.pid "$dir/munged.pid"
fi

storage=AccountingStorageType=accounting_storage/none
if [ -n "$accounting" ]; then
    storage="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=16819"
    mkdir -p "$dir/mysql"
    chown mysql "$dir/mysql"
    chmod 755 "$dir"
    mariadb-install-db --user=mysql --datadir="$dir/mysql" --skip-test-db >"$dir/log/mysql.log" 2>&1
    mariadbd --user=mysql --datadir="$dir/mysql" --socket="$dir/mysql/socket" --skip-networking \
        --innodb-buffer-pool-size=64M --pid-file="$dir/mysql/pid" >>"$dir/log/mysql.log" 2>&1 &
    for _ in $(seq 100); do [ -S "$dir/mysql/socket" ] && break; sleep 0.1; done
    mariadb --socket="$dir/mysql/socket" -e \
        "create user slurm@localhost identified by 'slurm'; grant all on slurm_acct_db.* to slurm@localhost"
    cp "$dir/mysql/pid" "$dir/mysql.pid"
    cat >"$dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
DbdHost=localhost
DbdPort=16819
SlurmUser=root
StorageType=accounting_storage/mysql
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=$dir/log/dbd.log
PidFile=$dir/dbd.pid
CONF
    chmod 600 "$dir/slurmdbd.conf"
fi

cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
AuthType=auth/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/ctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/log/ctld.log
SlurmdLogFile=$dir/log/%n.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SlurmdTimeout=20
KillWait=8
MinJobAge=40
AuthInfo=cred_expire=10
$storage
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-$((17000 + nodes))] CPUs=1 RealMemory=2000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=5 PreemptMode=OFF
PartitionName=spare Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=brief Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
{
    [ -f /sys/fs/cgroup/cgroup.controllers ] || echo CgroupPlugin=cgroup/v1
    printf 'CgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n'
} >"$dir/cgroup.conf"

export SLURM_CONF=$dir/slurm.conf
if [ -n "$accounting" ]; then
    MYSQL_UNIX_PORT=$dir/mysql/socket slurmdbd
    for _ in $(seq 100); do sacctmgr -n show cluster >/dev/null 2>&1 && break; sleep 0.1; done
    sacctmgr -i add cluster test >/dev/null
fi
slurmctld
for i in $(seq "$nodes"); do slurmd -N "n$i"; done
for _ in $(seq 100); do
    [ "$(sinfo -h -p p -t idle -o %D)" = "$nodes" ] && break
    sleep 0.2
done
sinfo -p p
echo "export SLURM_CONF=$SLURM_CONF"
