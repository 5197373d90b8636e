#include "runner/cluster/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/text.h"
#include "runner/slurm/states.h"

namespace compat::cluster {

using slurm::Phase;
using slurm::state_row;

SlurmWatch::SlurmWatch(std::string job, std::size_t count)
    : job_(std::move(job)), elements_(count + 1) {
    elements_.front().state = "COMPLETED";
}

std::vector<SlurmWatch::Change> SlurmWatch::take(const std::vector<slurm::Element>& seen) {
    std::vector<Change> changes;
    std::set<std::size_t> present;
    for (const slurm::Element& element : seen) {
        if (element.index == 0 || element.index >= elements_.size()) continue;
        present.insert(element.index);
        Known& known = elements_[element.index];
        const auto before = state_row(known.state), now = state_row(element.state);
        known.forgotten = false;
        known.why = element.why;
        if (known.given_up) continue;
        if (!element.node.empty()) known.node = element.node;
        if (known.state == element.state) continue;
        known.state = element.state;
        if (now.phase == Phase::waiting && before.phase == Phase::running)
            changes.push_back({element.index, true});
        if (now.phase == Phase::ended && !now.meaning.empty())
            changes.push_back({element.index, false});
    }
    for (std::size_t i = 1; i < elements_.size(); ++i)
        elements_[i].forgotten = !present.contains(i);
    return changes;
}

void SlurmWatch::take_accounted(const std::vector<slurm::Element>& rows) {
    for (const slurm::Element& row : rows) {
        if (row.index == 0 || row.index >= elements_.size()) continue;
        Known& known = elements_[row.index];
        // A state that was seen at the time stays: rows of requeues come before the last one.
        if (!known.forgotten ||
            (state_row(known.state).phase == Phase::ended && known.why != "sacct"))
            continue;
        known.state = row.state;
        known.node = row.node;
        known.why = "sacct";
    }
}

bool SlurmWatch::over() const {
    return std::all_of(elements_.begin(), elements_.end(), [](const Known& known) {
        return known.forgotten || state_row(known.state).phase == Phase::ended;
    });
}

bool SlurmWatch::lacks_ends() const {
    return std::any_of(elements_.begin(), elements_.end(), [](const Known& known) {
        return known.forgotten && state_row(known.state).phase != Phase::ended;
    });
}

std::string SlurmWatch::words() const {
    std::size_t ended = 0, running = 0, waiting = 0;
    std::string why;
    for (std::size_t i = 1; i < elements_.size(); ++i) {
        const Known& known = elements_[i];
        const Phase phase = state_row(known.state).phase;
        ended += phase == Phase::ended || known.forgotten;
        running += phase == Phase::running && !known.forgotten;
        waiting += phase == Phase::waiting && !known.forgotten;
        if (phase == Phase::waiting && why.empty() && known.why != "None") why = known.why;
    }
    std::string words = fmt::format("{} of {} ended", ended,
                                    counted(static_cast<long>(elements_.size() - 1), "shard"));
    if (running > 0) words += fmt::format(", {} running", running);
    if (waiting > 0)
        words +=
            fmt::format(", {} waiting{}", waiting, why.empty() ? "" : fmt::format(" ({})", why));
    return words;
}

std::optional<std::string> SlurmWatch::reason(std::size_t index) const {
    const Known& known = elements_.at(index);
    const auto& row = state_row(known.state);
    const std::string where = fmt::format(
        "{}{} (Slurm job {}_{})", known.node.empty() ? "" : " on ", known.node, job_, index);
    if (row.phase == Phase::ended)
        return row.meaning.empty() ? std::nullopt
                                   : std::optional(fmt::format("{}{}", row.name, where));
    if (known.forgotten) return fmt::format("Slurm forgot it before its end was seen{}", where);
    return fmt::format("{} when the runner stopped waiting{}", row.name, where);
}

void SlurmWatch::gave_up(std::size_t index, std::string nodes) {
    Known& known = elements_.at(index);
    known.state = "NODE_FAIL";
    known.node = std::move(nodes);
    known.given_up = true;
}

}  // namespace compat::cluster
