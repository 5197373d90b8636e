#include "runner/app/recorder.h"

#include <algorithm>
#include <csignal>

#include "parsers/attempt.h"
#include "runner/analysis/accounting.h"
#include "runner/base/files.h"

namespace compat::app {

using parsers::ProcessEnd;

namespace {

struct ToProcessEnd {
    ProcessEnd operator()(const exec::Exited& e) const {
        return {ProcessEnd::Kind::exited, e.code, {}};
    }
    ProcessEnd operator()(const exec::Signaled& s) const {
        return {ProcessEnd::Kind::signaled, s.signal, exec::signal_name(s.signal)};
    }
    ProcessEnd operator()(const exec::TimedOut& t) const {
        return {ProcessEnd::Kind::timed_out, 0, exec::describe(exec::Outcome(t))};
    }
    ProcessEnd operator()(const exec::OutOfMemory& m) const {
        return {ProcessEnd::Kind::signaled, SIGKILL, exec::describe(exec::Outcome(m))};
    }
    ProcessEnd operator()(const exec::Stopped& s) const {
        return {ProcessEnd::Kind::stopped, 0, s.reason};
    }
    ProcessEnd operator()(const exec::SpawnFailed& s) const {
        return {ProcessEnd::Kind::spawn_failed, 0, s.error};
    }
};

// Whether a module that was collected in order has no test `id`, nor a class or function of tests.
bool names_nothing(const std::string& id, const parsers::ModuleRecord& record) {
    using parsers::ModuleOutcome;
    if (record.outcome != ModuleOutcome::completed && record.outcome != ModuleOutcome::no_tests)
        return false;
    return std::none_of(record.cases.begin(), record.cases.end(), [&](const auto& test) {
        return test.pseudo || test.id == id || test.id.starts_with(id + "::") ||
               test.id.starts_with(id + "[");
    });
}

}  // namespace

ProcessEnd process_end(const exec::Outcome& outcome) { return std::visit(ToProcessEnd{}, outcome); }

Recorder::Recorder(store::Store& store, std::string run, std::filesystem::path run_folder,
                   suites::Framework framework, std::vector<RecordedJob> jobs)
    : store_(store),
      run_(std::move(run)),
      folder_(std::move(run_folder)),
      framework_(framework),
      jobs_(std::move(jobs)) {}

parsers::ModuleRecord Recorder::job_finished(const exec::JobFinished& finished) {
    const RecordedJob& job = jobs_[finished.job];
    // A file that is not there is one that the child never wrote: the parsers say what that means.
    const std::string events = read_file(folder_ / job.events).value_or("");
    const std::string log = read_file(folder_ / job.log).value_or("");
    const std::string devices = read_file(folder_ / job.devices).value_or("");

    store::JobResult result;
    result.record = parsers::read_attempt({events, log, devices}, name_of(framework_), job.module,
                                          process_end(finished.outcome));
    result.started = finished.started;
    result.duration_s = finished.duration.count();
    result.user_s = finished.usage.user_s;
    result.system_s = finished.usage.system_s;
    result.max_rss_bytes = static_cast<std::int64_t>(finished.usage.max_rss_bytes);
    result.log = job.log;
    if (!events.empty()) result.events = job.events;
    if (!devices.empty()) result.devices = job.devices;
    result.process_end = exec::describe(finished.outcome);
    result.dropped_log_bytes = static_cast<std::int64_t>(finished.dropped_log_bytes);
    for (const auto& leaked : finished.leaked) result.leaked.push_back({leaked.pid, leaked.argv});

    add(facts_, result.record);
    for (const auto& mismatch : analysis::account(result.record).mismatches) {
        mismatches_.push_back({job.module, mismatch.text()});
        facts_.unaccounted = true;
    }
    if (finished.trouble && !trouble_) trouble_ = finished.trouble;
    for (const auto& id : job.only)
        if (names_nothing(id, result.record)) unmatched_.push_back(id);
    facts_.usage = facts_.usage || !unmatched_.empty();
    parsers::ModuleRecord record = result.record;
    if (auto saved = store_.save_job(run_, result); !saved) {
        if (!trouble_) trouble_ = saved.error();
        unsaved_.push_back(std::move(result));
    }
    facts_.infrastructure = facts_.infrastructure || trouble_.has_value();
    return record;
}

void Recorder::save_what_failed() {
    std::erase_if(unsaved_,
                  [&](const auto& result) { return store_.save_job(run_, result).has_value(); });
}

}  // namespace compat::app
