#include "parsers/ending.h"

#include <fmt/format.h>

#include <algorithm>

namespace compat::parsers {

namespace {

bool is_death(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    return end.kind == Kind::exited || end.kind == Kind::signaled || end.kind == Kind::timed_out;
}

// The state of whatever was under way when the process ended so.
State state_inside(const ProcessEnd& end) {
    if (end.kind == ProcessEnd::Kind::timed_out) return State::timed_out;
    return is_death(end) ? State::crashed : State::not_run;
}

ModuleOutcome outcome_by(const ProcessEnd& end) {
    switch (end.kind) {
        case ProcessEnd::Kind::exited:
        case ProcessEnd::Kind::signaled:
            return ModuleOutcome::crashed;
        case ProcessEnd::Kind::timed_out:
            return ModuleOutcome::timed_out;
        case ProcessEnd::Kind::stopped:
            return ModuleOutcome::interrupted;
        case ProcessEnd::Kind::spawn_failed:
            return ModuleOutcome::spawn_failed;
        case ProcessEnd::Kind::not_run:
            return ModuleOutcome::not_run;
    }
    return ModuleOutcome::crashed;
}

void add_module_row(ModuleRecord& record, State state, std::string reason) {
    CaseRecord row;
    row.id = record.path + "::<module>";
    row.name = "<module>";
    row.state = state;
    row.reason = std::move(reason);
    row.phase = Phase::load;
    row.pseudo = true;
    const std::string plain = row.id;
    const auto taken = [&](const CaseRecord& c) { return c.id == row.id; };
    for (int n = 2; std::any_of(record.cases.begin(), record.cases.end(), taken); ++n)
        row.id = fmt::format("{}#{}", plain, n);
    record.cases.push_back(std::move(row));
    ++record.collected;
}

// Why the module could not be loaded; nothing where some of its tests ran all the same.
const CaseRecord* load_error_in(const ModuleRecord& record) {
    for (const CaseRecord& c : record.cases)
        if (c.started && !c.pseudo) return nullptr;
    for (const CaseRecord& c : record.cases)
        if (c.pseudo && c.phase == Phase::load && c.state == State::errored) return &c;
    return nullptr;
}

void set_not_run(ModuleRecord& record, std::span<const Progress> progress,
                 const std::string& reason) {
    for (size_t i = 0; i < progress.size(); ++i) {
        if (progress[i] == Progress::ended || record.cases[i].state != State::not_run) continue;
        if (record.cases[i].reason.empty()) record.cases[i].reason = reason;
    }
}

void settle_finished(ModuleRecord& record, std::span<const Progress> progress,
                     const ProcessEnd& end) {
    const CaseRecord* load_error = load_error_in(record);
    for (size_t i = 0; i < progress.size(); ++i)
        if (progress[i] == Progress::started) record.cases[i].reason = "it began and never ended";
    set_not_run(record, progress,
                load_error ? "collection failed" : "the framework stopped before it ran");
    if (load_error) {
        record.outcome = ModuleOutcome::load_error;
        record.reason = load_error->failure ? load_error->failure->key_line() : load_error->reason;
    } else if (end.kind == ProcessEnd::Kind::signaled || end.kind == ProcessEnd::Kind::timed_out) {
        record.outcome = outcome_by(end);
        record.reason = words_for(end) + " at exit, after its tests";
        add_module_row(record, state_inside(end), record.reason);
    } else if (record.cases.empty()) {
        // 5 is both frameworks' own code for "no tests" (unittest's since Python 3.12).
        const bool empty = end.kind != ProcessEnd::Kind::exited || end.code == 0 || end.code == 5;
        record.outcome = empty ? ModuleOutcome::no_tests : ModuleOutcome::crashed;
        record.reason = empty ? "it holds no tests" : words_for(end) + " without any test";
        if (!empty) add_module_row(record, State::crashed, record.reason);
    } else {
        record.outcome = ModuleOutcome::completed;
    }
}

void settle_cut_short(ModuleRecord& record, std::span<const Progress> progress,
                      const Course& course, const ProcessEnd& end) {
    record.outcome = outcome_by(end);
    const std::string how = words_for(end);
    const State inside = state_inside(end);
    std::string died_in;
    std::string last_ended;
    for (size_t i = 0; i < progress.size(); ++i) {
        CaseRecord& c = record.cases[i];
        if (progress[i] == Progress::ended && !c.pseudo) last_ended = c.id;
        if (progress[i] != Progress::started) continue;
        c.state = inside;
        c.reason = how;
        died_in = c.id;
    }
    if (end.kind == ProcessEnd::Kind::not_run) {
        record.reason = how;
        set_not_run(record, progress, how);
        return;
    }
    if (!is_death(end)) {
        record.reason = how;
        set_not_run(record, progress, how);
        if (record.cases.empty()) add_module_row(record, State::not_run, how);
        return;
    }
    const std::string_view verb = inside == State::timed_out ? "timed out" : "crashed";
    if (!died_in.empty()) {
        record.reason = how + " in " + died_in;
        set_not_run(record, progress, fmt::format("the module {} in {}", verb, died_in));
        return;
    }
    if (const CaseRecord* load_error = load_error_in(record);
        load_error && end.kind == ProcessEnd::Kind::exited) {
        // The harness had already said why; that it then exited is no second finding.
        record.outcome = ModuleOutcome::load_error;
        record.reason = load_error->failure ? load_error->failure->key_line() : load_error->reason;
        set_not_run(record, progress, "collection failed");
        return;
    }
    std::string where = " before the framework had finished";
    if (!course.ready)
        where = " while the module was loaded";
    else if (!course.fixture.empty())
        where = " in " + course.fixture;
    else if (!last_ended.empty())
        where = " outside any test, after " + last_ended;
    record.reason = how + where;
    set_not_run(record, progress,
                inside == State::timed_out
                    ? "the module timed out before it ran"
                    : fmt::format("the process ended with {} before it ran", how));
    add_module_row(record, inside, record.reason);
}

}  // namespace

std::string words_for(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    switch (end.kind) {
        case Kind::exited:
            return end.detail.empty() ? fmt::format("exit code {}", end.code) : end.detail;
        case Kind::signaled:
            return end.detail.empty() ? fmt::format("signal {}", end.code) : end.detail;
        case Kind::timed_out:
            if (end.detail.starts_with("timed out")) return end.detail;
            return end.detail.empty() ? "timed out" : "timed out " + end.detail;
        case Kind::stopped:
            return end.detail.empty() ? "interrupted" : end.detail;
        case Kind::spawn_failed:
            return end.detail.empty() ? "could not be started"
                                      : "could not be started: " + end.detail;
        case Kind::not_run:
            return end.detail.empty() ? "never started" : end.detail;
    }
    return {};
}

void settle(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
            const ProcessEnd& end) {
    record.finished = course.finished;
    if (course.finished)
        settle_finished(record, progress, end);
    else
        settle_cut_short(record, progress, course, end);
}

}  // namespace compat::parsers
