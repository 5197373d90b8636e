// Talks to Slurm by its commands: sbatch, squeue, sacct, scontrol, scancel. Not here: what a
// state means for a run (states.h, runner/cluster).
//
// The commands are asked for plain text with a separator, which every release since 20.02 writes.
// Their JSON needs plugins that many installations lack, and its form changes between releases.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/prepare/tool.h"

namespace compat::slurm {

// A job of one script, started once for each element, or once if there are none.
struct BatchJob {
    std::string name;
    std::vector<std::string> options = {};  // of sbatch: "--partition=p"
    std::size_t elements = 0;               // indices 1 to this number
    std::size_t in_flight = 0;              // elements that may run at once; 0: all
    bool requeue = false;                   // after its node failed or it was preempted
    fs::path script;
    std::vector<std::string> arguments = {};  // of the script
    fs::path log;                             // %a in it is the element's index
    fs::path folder;                          // the script's working directory
};
[[nodiscard]] prepare::Tool sbatch_tool(const BatchJob& job);
// Returns the job's id. Errors: environment, with sbatch's own words.
[[nodiscard]] Expected<std::string> submit(const BatchJob& job);

// An element as Slurm lists it.
struct Element {
    std::size_t index = 0;  // 0: of a job without elements
    std::string state;      // states.h
    std::string node;       // that it runs or ran on; empty: none yet
    std::string why;        // it waits: "Resources"; "None": Slurm does not say
    bool operator==(const Element&) const = default;
};
// All elements that the controller remembers; none if it has forgotten the job (MinJobAge).
[[nodiscard]] Expected<std::vector<Element>> queue(const std::string& job);
[[nodiscard]] std::vector<Element> parse_queue(std::string_view text);

// The same from the accounting database, where there is one: an element that was requeued has a row
// for each time, the oldest first.
[[nodiscard]] Expected<std::vector<Element>> accounted(const std::string& job);
[[nodiscard]] std::vector<Element> parse_accounted(std::string_view text);

// Parts of the cluster's configuration.
struct Cluster {
    std::string version;
    std::size_t max_array_size = 0;  // an index must be less; 0: not said
    bool accounting = false;
};
// Errors: environment, where Slurm is not installed or its controller does not answer.
[[nodiscard]] Expected<Cluster> cluster();
[[nodiscard]] Cluster parse_cluster(std::string_view text);

[[nodiscard]] Expected<void> cancel(const std::string& job);

// sbatch's form of a size as settings have it ("8G", bytes).
[[nodiscard]] std::string memory_option(std::string_view size);

}  // namespace compat::slurm
