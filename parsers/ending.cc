#include "parsers/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// With which a suite ends its process in order; `Exit` is pytest's.
constexpr std::array<std::string_view, 3> kExitTypes{"SystemExit", "KeyboardInterrupt", "Exit"};

bool is_death(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    return end.kind == Kind::exited || end.kind == Kind::signaled || end.kind == Kind::timed_out ||
           end.kind == Kind::out_of_memory;
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
        case ProcessEnd::Kind::out_of_memory:
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

struct FixturePhase {
    std::string_view name;
    Phase phase;
};
constexpr std::array<FixturePhase, 4> kFixturePhases{{
    {"<setUpClass>", Phase::class_setup},
    {"<tearDownClass>", Phase::class_teardown},
    {"<setUpModule>", Phase::module_setup},
    {"<tearDownModule>", Phase::module_teardown},
}};

// A row for what happened outside of any test: in the fixture of that id, or in the module.
void add_outside_row(ModuleRecord& record, const std::string& fixture, State state,
                     std::string reason) {
    CaseRecord row;
    row.id = fixture.empty() ? record.path + "::<module>" : fixture;
    row.name = fixture.empty() ? "<module>" : fixture.substr(fixture.rfind("::") + 2);
    row.state = state;
    row.reason = std::move(reason);
    row.phase = Phase::load;
    for (const FixturePhase& known : kFixturePhases)
        if (row.name == known.name) row.phase = known.phase;
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

bool is_broken(State state) { return state == State::failed || state == State::errored; }

// What the framework's own exit code is about.
struct Verdict {
    bool broken = false;     // a test failed in the framework's eyes
    bool nothing = false;    // it may have counted no test at all
    bool unreached = false;  // it stopped before the last test
};

Verdict verdict_of(const ModuleRecord& record) {
    const bool pytest = is_framework(record.framework, Framework::pytest);
    Verdict verdict{.broken = false, .nothing = true, .unreached = false};
    for (const CaseRecord& c : record.cases) {
        // That one died and its framework went on is what CTest alone may say.
        verdict.broken = verdict.broken || is_broken(c.state) || c.state == State::crashed ||
                         c.state == State::timed_out || (!pytest && c.state == State::xpassed) ||
                         std::any_of(c.subcases.begin(), c.subcases.end(),
                                     [](const SubCase& sub) { return is_broken(sub.state); });
        // pytest counts what it collected; unittest what it started, in 3.12.1 without the skipped.
        if (pytest ? !c.pseudo : c.started && c.state != State::skipped) verdict.nothing = false;
        verdict.unreached = verdict.unreached || c.state == State::not_run;
    }
    if (!record.closing) return verdict;
    // Of a text, whose rows may lack a failure that its closing counts.
    for (const auto& [word, count] : record.closing->counts)
        verdict.broken =
            verdict.broken || (count > 0 && (word == "failed" || word == "failures" ||
                                             word == "errors" || word == "unexpected successes"));
    return verdict;
}

constexpr int kInterrupted = 2;  // pytest's: a plugin or an error in collection stopped it

// A record that names none of our frameworks is taken for unittest's.
const FrameworkTraits& framework_traits(const ModuleRecord& record) {
    const FrameworkTraits* named = compat::traits_of(record.framework);
    return named ? *named : kFrameworks.front();
}

bool gives(const ModuleRecord& record, const Verdict& verdict, int code) {
    const FrameworkTraits& codes = framework_traits(record);
    if (code == (verdict.broken ? codes.exit_code_failed : 0)) return true;
    if (code == codes.exit_code_no_tests) return verdict.nothing;
    // pytest stops early with either, as the plugin that stops it chooses.
    return is_framework(record.framework, Framework::pytest) && verdict.unreached &&
           (code == codes.exit_code_failed || code == kInterrupted);
}

// An exit code after the tests that they do not explain.
void settle_exit_code(ModuleRecord& record, const ProcessEnd& end) {
    const Verdict verdict = verdict_of(record);
    if (end.kind != ProcessEnd::Kind::exited || gives(record, verdict, end.code)) return;
    const std::string how = explain(end) + " after its tests, which alone would give ";
    if (!verdict.broken) {
        record.outcome = ModuleOutcome::crashed;
        const int nothing = framework_traits(record).exit_code_no_tests;
        record.reason = how + (verdict.nothing && nothing != 0 ? fmt::format("0 or {}", nothing)
                                                               : std::string("0"));
        add_outside_row(record, {}, State::crashed, record.reason);
    } else if (end.code != 0) {
        record.diagnostics.push_back(
            {"events", 0, how + std::to_string(framework_traits(record).exit_code_failed)});
    }
}

// The test for whose time-out the process was ended, where it has ended nevertheless.
const CaseRecord* settle_overdue(ModuleRecord& record, std::span<const Progress> progress,
                                 const ProcessEnd& end) {
    if (end.kind != ProcessEnd::Kind::timed_out || !end.of_test || end.limit_s <= 0) return nullptr;
    for (size_t i = progress.size(); i-- > 0;) {
        CaseRecord& c = record.cases[i];
        if (progress[i] != Progress::ended || c.pseudo || c.duration_s < end.limit_s) continue;
        if (!c.call_state) c.call_state = c.state;
        c.state = State::timed_out;
        c.reason = explain(end);
        return &c;
    }
    return nullptr;
}

void settle_finished(ModuleRecord& record, std::span<const Progress> progress,
                     const ProcessEnd& end) {
    const CaseRecord* overdue = settle_overdue(record, progress, end);
    const CaseRecord* load_error = load_error_in(record);
    for (size_t i = 0; i < progress.size(); ++i)
        if (progress[i] == Progress::started) record.cases[i].reason = "it began and never ended";
    set_not_run(record, progress,
                load_error ? "collection failed" : "the framework stopped before it ran");
    if (load_error) {
        record.outcome = ModuleOutcome::load_error;
        record.reason = load_error->failure ? load_error->failure->key_line() : load_error->reason;
    } else if (overdue) {
        record.outcome = ModuleOutcome::timed_out;
        record.reason = explain(end) + " in " + overdue->id;
    } else if (end.kind != ProcessEnd::Kind::exited && is_death(end)) {
        record.outcome = outcome_by(end);
        record.reason = explain(end) + " at exit, after its tests";
        add_outside_row(record, {}, state_inside(end), record.reason);
    } else if (record.cases.empty()) {
        const bool empty = end.kind != ProcessEnd::Kind::exited || end.code == 0 ||
                           end.code == framework_traits(record).exit_code_no_tests;
        record.outcome = empty ? ModuleOutcome::no_tests : ModuleOutcome::crashed;
        record.reason = empty ? "it holds no tests" : explain(end) + " without any test";
        if (!empty) add_outside_row(record, {}, State::crashed, record.reason);
    } else {
        record.outcome = ModuleOutcome::completed;
        settle_exit_code(record, end);
    }
}

// The name of the exception by which the last case to end had the process end, too; empty where it
// did not, or where the process died in another way after it.
std::string_view exit_asked_for(const ModuleRecord& record, const Course& course,
                                const ProcessEnd& end) {
    if (!course.last_end) return {};
    const CaseRecord& last = record.cases[*course.last_end];
    if (last.state != State::errored || !last.failure) return {};
    const std::string_view type = last.failure->type;
    // Python ends by the signal itself where nothing catches a KeyboardInterrupt.
    if (end.kind == ProcessEnd::Kind::signaled)
        return end.code == SIGINT && type == "KeyboardInterrupt" ? type : std::string_view();
    if (end.kind != ProcessEnd::Kind::exited) return {};
    // What broke pytest itself ends it, whatever it was.
    if (last.pseudo && last.id == record.path + "::<session>") return type;
    const bool asks = std::find(kExitTypes.begin(), kExitTypes.end(), type) != kExitTypes.end();
    return asks ? type : std::string_view();
}

void settle_cut_short(ModuleRecord& record, std::span<const Progress> progress,
                      const Course& course, const ProcessEnd& end) {
    record.outcome = outcome_by(end);
    const std::string how = explain(end);
    const State inside = state_inside(end);
    const CaseRecord* overdue = settle_overdue(record, progress, end);
    std::string died_in = overdue ? overdue->id : std::string();
    std::string last_ended;
    for (size_t i = 0; i < progress.size(); ++i) {
        CaseRecord& c = record.cases[i];
        if (progress[i] == Progress::ended && !c.pseudo) last_ended = c.id;
        if (progress[i] != Progress::started || overdue) continue;
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
        if (record.cases.empty()) add_outside_row(record, {}, State::not_run, how);
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
    if (const std::string_view type = exit_asked_for(record, course, end); !type.empty()) {
        const std::string& place =
            course.fixture.empty() ? record.cases[*course.last_end].id : course.fixture;
        record.reason = fmt::format("{} by {} in {}", how, type, place);
        set_not_run(record, progress, record.reason);
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
    const std::string in = course.fixture.empty() ? "" : " in " + course.fixture;
    set_not_run(record, progress,
                inside == State::timed_out
                    ? fmt::format("the module timed out{} before it ran", in)
                    : fmt::format("the process ended with {}{} before it ran", how, in));
    add_outside_row(record, course.fixture, inside, record.reason);
}

}  // namespace

void settle(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
            const ProcessEnd& end) {
    record.ready = course.ready || course.finished;
    record.finished = course.finished;
    if (course.finished)
        settle_finished(record, progress, end);
    else
        settle_cut_short(record, progress, course, end);
}

}  // namespace compat::parsers
