#include "runner/exec/executor.h"

#include <csignal>

namespace compat::exec {

Executor::Executor(Launcher& launcher, const Clock& clock, Settings settings, Sink sink)
    : launcher_(launcher), clock_(clock), settings_(settings), sink_(std::move(sink)) {}

void Executor::begin(std::vector<Job> jobs) {
    for (Job& job : jobs) {
        waiting_.push_back(jobs_.size());
        jobs_.push_back(std::move(job));
    }
    sink_(RunStarted{jobs_.size(), settings_.parallel});
    start_more();
}

void Executor::add(std::vector<Job> jobs) {
    const size_t first = jobs_.size();
    for (Job& job : jobs) jobs_.push_back(std::move(job));
    for (size_t i = jobs_.size(); i > first; --i) waiting_.push_front(i - 1);
}

void Executor::start_more() {
    while (!stopping_ && !waiting_.empty() &&
           running_.size() < static_cast<size_t>(settings_.parallel)) {
        const size_t index = waiting_.front();
        waiting_.pop_front();
        const Job& job = jobs_[index];
        const WallTime started = clock_.wall();
        auto child =
            launcher_.start(job, [this, index](Ended how) { ended(index, std::move(how)); });
        if (!child) {
            JobFinished event;
            event.job = index;
            event.outcome = SpawnFailed{to_line(child.error())};
            event.started = started;
            sink_(event);
            continue;
        }
        Running running;
        running.child = std::move(*child);
        running.since = clock_.steady();
        running.started = started;
        if (job.timeout.count() > 0) running.deadline = running.since + job.timeout;
        sink_(JobStarted{index, running.child->pid(), started});
        running_.emplace(index, std::move(running));
    }
    if (running_.empty() && !finished_ && (stopping_ || waiting_.empty())) {
        finished_ = true;
        sink_(RunFinished{stopping_, stop_reason_, {waiting_.begin(), waiting_.end()}});
    }
}

void Executor::end_next_step(Running& running) {
    const SteadyTime now = clock_.steady();
    if (running.ending == Ending::none && running.ready) {
        running.child->signal_leader(SIGUSR1);
        running.ending = Ending::dumped;
        running.deadline = now + settings_.dump_grace;
    } else if (running.ending == Ending::none || running.ending == Ending::dumped) {
        running.child->signal_group(SIGTERM);
        running.ending = Ending::terminated;
        running.deadline = now + settings_.term_grace;
    } else {
        running.child->signal_group(SIGKILL);
        running.ending = Ending::killed;
        running.deadline.reset();
    }
}

void Executor::tick() {
    const SteadyTime now = clock_.steady();
    for (auto& [index, running] : running_) {
        if (!running.deadline || *running.deadline > now) continue;
        if (!running.cause) running.cause = TimedOut{jobs_[index].timeout};
        end_next_step(running);
    }
}

std::optional<SteadyTime> Executor::next_deadline() const {
    std::optional<SteadyTime> next;
    for (const auto& [index, running] : running_)
        if (running.deadline && (!next || *running.deadline < *next)) next = running.deadline;
    return next;
}

void Executor::report(size_t job, const Progress& progress) {
    const auto it = running_.find(job);
    if (it == running_.end()) return;
    it->second.ready = progress.ready;
    sink_(JobProgress{job, progress});
}

void Executor::stop(std::string reason) {
    const bool again = stopping_;
    stopping_ = true;
    if (!again) stop_reason_ = std::move(reason);
    for (auto& [index, running] : running_) {
        if (!running.cause) running.cause = Stopped{stop_reason_};
        if (again) {
            running.ending = Ending::terminated;
            end_next_step(running);
        } else if (running.ending == Ending::none) {
            // Stacks are for hangs: nobody waits for them after Ctrl-C.
            running.ending = Ending::dumped;
            end_next_step(running);
        }
    }
    start_more();
}

void Executor::ended(size_t index, Ended how) {
    const auto it = running_.find(index);
    const Running running = std::move(it->second);
    running_.erase(it);

    JobFinished event;
    event.job = index;
    event.outcome = running.cause.value_or(how.outcome);
    event.usage = how.usage;
    event.started = running.started;
    event.duration = clock_.steady() - running.since;
    event.leaked = std::move(how.leaked);
    event.dropped_log_bytes = how.dropped_log_bytes;
    event.trouble = std::move(how.trouble);
    sink_(event);
    start_more();
}

}  // namespace compat::exec
