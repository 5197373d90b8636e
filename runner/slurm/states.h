// The states of a job of Slurm, one row each (squeue(1), "JOB STATE CODES"). Not here: asking for
// them (client.h).
#pragma once

#include <array>
#include <string_view>

namespace compat::slurm {

enum class Phase { waiting, running, ended };

struct StateRow {
    std::string_view name;
    Phase phase;
    std::string_view meaning;  // of an end that leaves tests behind; empty: none
    std::string_view advice;
};

// clang-format off
inline constexpr std::array<StateRow, 22> kStates{{
    {"PENDING", Phase::waiting, "", ""},
    {"REQUEUED", Phase::waiting, "", ""},
    {"REQUEUE_FED", Phase::waiting, "", ""},
    {"REQUEUE_HOLD", Phase::waiting, "", ""},
    {"RESV_DEL_HOLD", Phase::waiting, "", ""},
    {"SPECIAL_EXIT", Phase::waiting, "", ""},
    {"CONFIGURING", Phase::running, "", ""},
    {"RUNNING", Phase::running, "", ""},
    {"COMPLETING", Phase::running, "", ""},
    {"RESIZING", Phase::running, "", ""},
    {"SIGNALING", Phase::running, "", ""},
    {"STAGE_OUT", Phase::running, "", ""},
    {"STOPPED", Phase::running, "", ""},
    {"SUSPENDED", Phase::running, "", ""},
    {"COMPLETED", Phase::ended, "", ""},
    {"NODE_FAIL", Phase::ended, "a node stopped answering, twice",
     "look at the node (`sinfo -R`); `runner resume RUN` runs the rest here"},
    {"TIMEOUT", Phase::ended, "the shard reached its time limit",
     "raise `slurm_time`, or make more shards"},
    {"OUT_OF_MEMORY", Phase::ended, "the shard used more memory than it may",
     "raise `slurm_mem`, or lower `jobs`"},
    {"PREEMPTED", Phase::ended, "a job of higher priority took the node",
     "use another partition, or one that requeues what it preempts"},
    {"CANCELLED", Phase::ended, "somebody cancelled the shard (`scancel`, Ctrl-C)",
     "`runner resume RUN` runs the rest here"},
    {"DEADLINE", Phase::ended, "the shard could not end before its deadline",
     "raise the deadline"},
    {"FAILED", Phase::ended, "the shard ended with an error: the reason has its last line",
     "read its log in the run's folder, `slurm/shard-N.log`"},
}};
// clang-format on

// By its name, also with words after it ("CANCELLED by 1000"); of an unknown name RUNNING, so that
// nobody takes it for an end. BOOT_FAIL and REVOKED are as NODE_FAIL and CANCELLED.
[[nodiscard]] const StateRow& state_row(std::string_view name);

}  // namespace compat::slurm
