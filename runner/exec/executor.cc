#include "runner/exec/executor.h"

#include <algorithm>
#include <csignal>

namespace compat::exec {

Executor::Executor(Launcher& launcher, const Clock& clock, Settings settings, Sink sink)
    : launcher_(launcher), clock_(clock), settings_(settings), sink_(std::move(sink)) {}

void Executor::begin(std::vector<Job> jobs, bool hold) {
    held_ = hold;
    first_jobs_ = jobs.size();
    add(std::move(jobs));
    if (hold && settings_.parallel > 1)
        std::stable_partition(waiting_.begin(), waiting_.end(), [&](size_t index) {
            return !jobs_[index].warm && !jobs_[index].last;
        });
    sink_(RunStarted{jobs_.size(), settings_.parallel});
    start_more();
}

void Executor::release() {
    held_ = false;
    // The first jobs wait in one row, behind those that were added before all waiting ones.
    const auto is_first = [&](size_t index) { return index < first_jobs_; };
    const auto begin = std::ranges::find_if(waiting_, is_first);
    std::sort(begin, std::find_if_not(begin, waiting_.end(), is_first), [&](size_t a, size_t b) {
        return std::pair(jobs_[a].last, a) < std::pair(jobs_[b].last, b);
    });
    start_more();
}

void Executor::add(std::vector<Job> jobs) {
    std::vector<size_t> first;
    for (Job& job : jobs) {
        const size_t index = jobs_.size();
        if (job.last)
            waiting_.push_back(index);
        else
            first.push_back(index);
        jobs_.push_back(std::move(job));
    }
    waiting_.insert(waiting_.begin(), first.begin(), first.end());
}

// While it holds, one place is left to what the jobs wait for.
bool Executor::may_start(const Job& job) const {
    const auto places = static_cast<size_t>(settings_.parallel) - (held_ ? 1 : 0);
    return running_.size() < places && !(held_ && job.warm);
}

void Executor::start_more() {
    while (!stopping_ && !waiting_.empty() && may_start(jobs_[waiting_.front()])) {
        const size_t index = waiting_.front();
        waiting_.pop_front();
        if (!start(index)) break;
    }
    if (running_.empty() && !finished_ && (stopping_ || waiting_.empty())) {
        finished_ = true;
        sink_(RunFinished{stopping_, stop_reason_, {waiting_.begin(), waiting_.end()}});
    }
}

bool Executor::start(size_t index) {
    const Job& job = jobs_[index];
    const WallTime started = clock_.wall();
    const SteadyTime since = clock_.steady();
    spawn_retry_at_.reset();
    auto child =
        launcher_.start(job, [this, index](ChildResult how) { ended(index, std::move(how)); });
    if (!child) {
        report_spawn_failure(index, child.error(), started);
        return true;
    }
    if (!*child) {
        if (!running_.empty()) spawn_refused_since_.reset();
        if (!spawn_refused_since_) spawn_refused_since_ = since;
        if (since - *spawn_refused_since_ >= settings_.spawn_timeout) {
            report_spawn_failure(index,
                                 {ErrorKind::spawn,
                                  "no process or memory available",
                                  "raise the process limit (ulimit -u) or lower --jobs",
                                  {}},
                                 started);
        } else {
            waiting_.push_front(index);
            spawn_retry_at_ = since + settings_.spawn_interval;
        }
        return !spawn_retry_at_;
    }
    spawn_refused_since_.reset();
    Running running;
    running.child = std::move(*child);
    running.since = since;
    running.started = started;
    if (job.timeout.count() > 0) running.deadline = since + job.timeout;
    const JobStarted event{index,    running.child->pid(), started,
                           job.name, job.attempt,          running.child->state().forked};
    running_.emplace(index, std::move(running));
    sink_(event);
    return true;
}

void Executor::report_spawn_failure(size_t index, const Error& error, WallTime started) {
    JobFinished event;
    event.job = index;
    event.end = ProcessEnd::spawn_failed(to_line(error));
    // The folder of the logs is gone or full, for every other job too.
    if (error.kind == ErrorKind::io) event.infrastructure_error = error;
    event.started = started;
    sink_(event);
}

void Executor::escalate(Running& running) {
    const SteadyTime now = clock_.steady();
    if (running.termination == Termination::none && running.progress.session) {
        running.child->signal_leader(SIGUSR1);
        running.termination = Termination::dumped;
        running.deadline = now + settings_.dump_grace;
    } else if (running.termination == Termination::none ||
               running.termination == Termination::dumped) {
        running.child->signal_group(SIGTERM);
        running.termination = Termination::terminated;
        running.deadline = now + settings_.term_grace;
    } else {
        kill(running);
    }
}

void Executor::kill(Running& running) {
    running.child->signal_group(SIGKILL);
    running.termination = Termination::killed;
    running.deadline = clock_.steady() + settings_.kill_grace;
}

std::optional<ProcessEnd> Executor::exceeded_limit(const Job& job, const Running& running,
                                                   const ChildState& state) const {
    const SteadyTime now = clock_.steady();
    if (state.log_error) return ProcessEnd::stopped(to_line(*state.log_error));
    if (job.memory_bytes > 0 && state.rss_bytes > job.memory_bytes)
        if (const auto bytes = running.child->memory_bytes(); bytes > job.memory_bytes)
            return ProcessEnd::out_of_memory(job.memory_bytes, bytes);
    if (running.deadline && *running.deadline <= now)
        return ProcessEnd::timed_out(job.timeout, false);
    if (running.test_deadline && *running.test_deadline <= now && !running.progress.behind)
        return ProcessEnd::timed_out(job.test_timeout, true);
    return std::nullopt;
}

void Executor::tick() {
    const SteadyTime now = clock_.steady();
    std::vector<size_t> stuck;
    for (auto& [index, running] : running_) {
        const ChildState state = running.child->state();
        if (state.exited) {
            // It has ended by itself; the launcher ends the processes that it leaked.
            running.deadline.reset();
            running.test_deadline.reset();
        } else if (running.termination == Termination::none) {
            running.cause = exceeded_limit(jobs_[index], running, state);
            if (!running.cause) continue;
            running.test_deadline.reset();
            if (running.cause->kind == ProcessEnd::Kind::out_of_memory)
                kill(running);  // it would keep growing
            else
                escalate(running);
        } else if (running.deadline && *running.deadline <= now) {
            if (running.termination == Termination::killed)
                stuck.push_back(index);
            else
                escalate(running);
        }
    }
    for (const size_t index : stuck) running_.at(index).child->give_up();
    if (spawn_retry_at_ && *spawn_retry_at_ <= now) start_more();
}

std::optional<SteadyTime> Executor::next_deadline() const {
    std::optional<SteadyTime> next = spawn_retry_at_;
    const auto consider = [&](const std::optional<SteadyTime>& deadline) {
        if (deadline && (!next || *deadline < *next)) next = deadline;
    };
    for (const auto& [index, running] : running_) {
        consider(running.deadline);
        if (!running.progress.behind) consider(running.test_deadline);
    }
    return next;
}

std::optional<Milliseconds> Executor::shortest_test_timeout() const {
    std::optional<Milliseconds> shortest;
    for (const auto& [index, running] : running_) {
        const Milliseconds limit = jobs_[index].test_timeout;
        if (limit.count() > 0 && (!shortest || limit < *shortest)) shortest = limit;
    }
    return shortest;
}

void Executor::report(size_t job, const Progress& progress, std::vector<TestEnd> ends) {
    const auto it = running_.find(job);
    if (it == running_.end()) return;
    Running& running = it->second;
    const bool another =
        progress.starts != running.progress.starts || progress.current != running.progress.current;
    const SteadyTime since = another ? clock_.steady() : running.progress.since;
    running.progress = progress;
    running.progress.since = since;
    if (another && running.termination == Termination::none) {
        const Milliseconds limit = jobs_[job].test_timeout;
        running.test_deadline.reset();
        if (!progress.current.empty() && limit.count() > 0) running.test_deadline = since + limit;
    }
    sink_(JobProgress{job, running.progress, std::move(ends)});
}

void Executor::pause() {
    paused_at_ = clock_.steady();
    for (auto& [index, running] : running_) running.child->signal_group(SIGSTOP);
}

void Executor::resume() {
    const auto lost = clock_.steady() - paused_at_;
    for (auto& [index, running] : running_) {
        running.since += lost;
        running.progress.since += lost;
        if (running.deadline) *running.deadline += lost;
        if (running.test_deadline) *running.test_deadline += lost;
        running.child->signal_group(SIGCONT);
    }
}

void Executor::stop(std::string reason) {
    const bool again = stopping_;
    stopping_ = true;
    if (!again) stop_reason_ = std::move(reason);
    for (auto& [index, running] : running_) {
        if (running.child->state().exited) continue;
        if (!running.cause) running.cause = ProcessEnd::stopped(stop_reason_);
        running.test_deadline.reset();
        if (again) {
            if (running.termination != Termination::killed) kill(running);
        } else if (running.termination == Termination::none) {
            // No dump after Ctrl-C: stacks are for hangs.
            running.termination = Termination::dumped;
            escalate(running);
        }
    }
    start_more();
}

void Executor::ended(size_t index, ChildResult how) {
    const auto it = running_.find(index);
    const Running running = std::move(it->second);
    running_.erase(it);

    JobFinished event;
    event.job = index;
    event.end = running.cause.value_or(how.end);
    event.cost = how.cost;
    // An out_of_memory end already has the peak that exceeded the limit.
    event.cost.peak_rss_bytes =
        std::max(event.cost.peak_rss_bytes, static_cast<std::int64_t>(event.end.peak_rss_bytes));
    event.end.peak_rss_bytes = static_cast<std::uint64_t>(event.cost.peak_rss_bytes);
    event.started = running.started;
    event.cost.duration_s = std::chrono::duration<double>(clock_.steady() - running.since).count();
    event.leaked = std::move(how.leaked);
    event.left = std::move(how.left);
    event.forked = how.forked;
    event.infrastructure_error = std::move(how.infrastructure_error);
    sink_(event);
    start_more();
}

}  // namespace compat::exec
