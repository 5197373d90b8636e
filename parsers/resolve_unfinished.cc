#include "parsers/resolve_unfinished.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "parsers/framework_summary.h"
#include "parsers/outcomes.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using EndKind = ProcessEnd::Kind;

// The outcome of the module, and the state of whatever was under way, by kind of end.
struct EndTraits {
    bool is_death;
    State inside;
    ModuleOutcome outcome;
};
constexpr std::array<EndTraits, ProcessEnd::kKindNames.size()> kEnds{{
    {true, State::crashed, ModuleOutcome::crashed},        // exited
    {true, State::crashed, ModuleOutcome::crashed},        // signaled
    {true, State::timed_out, ModuleOutcome::timed_out},    // timed_out
    {true, State::crashed, ModuleOutcome::crashed},        // out_of_memory
    {false, State::not_run, ModuleOutcome::interrupted},   // stopped
    {false, State::not_run, ModuleOutcome::spawn_failed},  // spawn_failed
    {false, State::not_run, ModuleOutcome::not_run},       // not_run
}};

constexpr std::array<std::pair<std::string_view, Phase>, 4> kFixturePhases{{
    {"<setUpClass>", Phase::class_setup},
    {"<tearDownClass>", Phase::class_teardown},
    {"<setUpModule>", Phase::module_setup},
    {"<tearDownModule>", Phase::module_teardown},
}};

// With which a suite ends its process in order; `Exit` is pytest's.
constexpr std::array<std::string_view, 3> kExitTypes{"SystemExit", "KeyboardInterrupt", "Exit"};
// A closing that counts any of these tells of failures that the rows of a text may lack.
constexpr std::array<std::string_view, 4> kBrokenWords{"failed", "failures", "errors",
                                                       "unexpected successes"};
constexpr int kInterrupted = 2;  // pytest's: a plugin or an error in collection stopped it

// The module's outcome.
struct Finding {
    ModuleOutcome outcome;
    std::string reason;
    std::string not_run;  // the reason of the tests that never began
    // A row for what happened outside of any test: in the fixture of this id, or in the module
    // (empty).
    std::optional<std::string> row{};
};

struct Resolving {
    ModuleRecord& record;
    std::span<const Progress> progress;
    const Course& course;
    const ProcessEnd& end;
    const EndTraits& traits = kEnds[static_cast<size_t>(end.kind)];
    const std::string how = explain(end);
    // A record that names none of our frameworks is taken for unittest's.
    const FrameworkTraits* named = compat::traits_of(record.framework);
    const FrameworkTraits& framework = named ? *named : kFrameworks.front();

    void resolve() {
        const CaseRecord* overdue = resolve_overdue();
        Finding found = course.finished ? finished(overdue) : cut_short(overdue);
        record.ready = course.ready || course.finished;
        record.finished = course.finished;
        record.outcome = found.outcome;
        record.reason = std::move(found.reason);
        for (size_t i = 0; i < progress.size(); ++i) {
            CaseRecord& c = record.cases[i];
            if (progress[i] != Progress::ended && c.state == State::not_run && c.reason.empty())
                c.reason = found.not_run;
        }
        if (found.row) add_row(*found.row);
    }

    Finding finished(const CaseRecord* overdue) {
        for (size_t i = 0; i < progress.size(); ++i)
            if (progress[i] == Progress::started)
                record.cases[i].reason = "it began and never ended";
        if (auto error = load_error()) return *error;
        const std::string not_run = "the framework stopped before it ran";
        if (overdue) return {ModuleOutcome::timed_out, how + " in " + overdue->id, not_run};
        if (end.kind != EndKind::exited && traits.is_death)
            return {traits.outcome, how + " at exit, after its tests", not_run, ""};
        if (!record.cases.empty()) return by_exit_code(not_run);
        if (end.kind == EndKind::exited && end.code != 0 &&
            end.code != framework.exit_code_no_tests)
            return {ModuleOutcome::crashed, how + " without any test", not_run, ""};
        return {ModuleOutcome::no_tests, "it holds no tests", not_run};
    }

    Finding cut_short(const CaseRecord* died_in) {
        const bool overdue = died_in != nullptr;
        for (size_t i = 0; i < progress.size() && !overdue; ++i) {
            if (progress[i] != Progress::started) continue;
            record.cases[i].state = traits.inside;
            record.cases[i].reason = how;
            died_in = &record.cases[i];
        }
        Finding found{traits.outcome, how, how};
        if (!traits.is_death) {
            if (end.kind == EndKind::spawn_failed && record.cases.empty()) found.row = "";
            return found;
        }
        if (died_in) {
            const bool hung = traits.inside == State::timed_out;
            found.reason += " in " + died_in->id;
            found.not_run =
                fmt::format("the module {} in {}", hung ? "timed out" : "crashed", died_in->id);
            return found;
        }
        // The harness had already said why; that it then exited is no second finding.
        if (auto error = load_error(); error && end.kind == EndKind::exited) return *error;
        if (const std::string_view type = exit_asked_for(); !type.empty()) {
            found.reason += fmt::format(
                " by {} in {}", type,
                course.fixture.empty() ? record.cases[*course.last_end].id : course.fixture);
            found.not_run = found.reason;
            return found;
        }
        return outside_tests();
    }

    Finding outside_tests() const {
        const std::string& fixture = course.fixture;
        std::string where = " before the framework had finished";
        for (size_t i = 0; i < progress.size(); ++i)
            if (progress[i] == Progress::ended && !record.cases[i].pseudo)
                where = " outside any test, after " + record.cases[i].id;
        const std::string in = fixture.empty() ? "" : " in " + fixture;
        if (!fixture.empty()) where = in;
        if (!course.ready) where = " while the module was loaded";
        return {traits.outcome, how + where,
                traits.inside == State::timed_out
                    ? fmt::format("the module timed out{} before it ran", in)
                    : fmt::format("the process ended with {}{} before it ran", how, in),
                fixture};
    }

    void add_row(const std::string& fixture) {
        CaseRecord row;
        row.id = fixture.empty() ? record.path + "::<module>" : fixture;
        row.name = fixture.empty() ? "<module>" : fixture.substr(fixture.rfind("::") + 2);
        row.state = traits.inside;
        row.reason = record.reason;
        row.phase = Phase::load;
        for (const auto& [name, phase] : kFixturePhases)
            if (row.name == name) row.phase = phase;
        row.pseudo = true;
        const std::string plain = row.id;
        for (int n = 2; std::ranges::count(record.cases, row.id, &CaseRecord::id) > 0; ++n)
            row.id = fmt::format("{}#{}", plain, n);
        record.cases.push_back(std::move(row));
        ++record.collected;
    }

    // Why the module could not be loaded; nothing where some of its tests ran all the same.
    [[nodiscard]] std::optional<Finding> load_error() const {
        const auto is_error = [](const CaseRecord& c) {
            return c.pseudo && c.phase == Phase::load && c.state == State::errored;
        };
        const auto has_run = [](const CaseRecord& c) { return c.started && !c.pseudo; };
        const auto error = std::ranges::find_if(record.cases, is_error);
        if (error == record.cases.end() || std::ranges::any_of(record.cases, has_run))
            return std::nullopt;
        return Finding{ModuleOutcome::load_error, error->why(), "collection failed"};
    }

    // The test for whose time-out the process was ended, where it has ended nevertheless.
    const CaseRecord* resolve_overdue() {
        if (end.kind != EndKind::timed_out || !end.of_test || end.limit_s <= 0) return nullptr;
        for (size_t i = progress.size(); i-- > 0;) {
            CaseRecord& c = record.cases[i];
            if (progress[i] != Progress::ended || c.pseudo || c.duration_s < end.limit_s) continue;
            if (!c.call_state) c.call_state = c.state;
            c.state = State::timed_out;
            c.reason = how;
            return &c;
        }
        return nullptr;
    }

    // Whether a test failed in the framework's eyes.
    [[nodiscard]] bool has_broken() const {
        const auto broke = [&](const CaseRecord& c) {
            // Only CTest goes on after a test that died.
            return is_broken(c.state) || (!is_pytest() && c.state == State::xpassed) ||
                   std::ranges::any_of(c.subcases, is_failure, &SubCase::state);
        };
        const auto counts = [&](std::string_view word) {
            return record.closing && count_in(*record.closing, word) > 0;
        };
        return std::ranges::any_of(record.cases, broke) ||
               std::ranges::any_of(kBrokenWords, counts);
    }

    // Not completed where the tests do not explain the exit code that came after them.
    Finding by_exit_code(const std::string& not_run) {
        const Finding completed{ModuleOutcome::completed, "", not_run};
        const int failed = framework.exit_code_failed, no_tests = framework.exit_code_no_tests;
        const bool broken = has_broken();
        // pytest counts what it collected; unittest what it started, in 3.12.1 without the skipped.
        const bool nothing = std::ranges::none_of(record.cases, [&](const CaseRecord& c) {
            return is_pytest() ? !c.pseudo : c.started && c.state != State::skipped;
        });
        // pytest stops early with either, as the plugin that stops it chooses.
        const bool stopped =
            is_pytest() && (end.code == failed || end.code == kInterrupted) &&
            std::ranges::count(record.cases, State::not_run, &CaseRecord::state) > 0;
        if (end.kind != EndKind::exited || end.code == (broken ? failed : 0) ||
            (end.code == no_tests ? nothing : stopped))
            return completed;
        const std::string what = how + " after its tests, which alone would give ";
        if (!broken)
            return {ModuleOutcome::crashed,
                    what + (nothing && no_tests != 0 ? fmt::format("0 or {}", no_tests) : "0"),
                    not_run, ""};
        if (end.code != 0)
            record.diagnostics.push_back({"events", 0, what + std::to_string(failed)});
        return completed;
    }

    // The name of the exception by which the last case to end had the process end, too; empty where
    // it did not, or where the process died in another way after it.
    [[nodiscard]] std::string_view exit_asked_for() const {
        if (!course.last_end) return {};
        const CaseRecord& last = record.cases[*course.last_end];
        if (last.state != State::errored || !last.failure) return {};
        const std::string_view type = last.failure->type;
        // Python ends by the signal itself where nothing catches a KeyboardInterrupt.
        const bool by_signal = end.kind == EndKind::signaled && end.code == SIGINT;
        if (by_signal && type == "KeyboardInterrupt") return type;
        if (end.kind != EndKind::exited) return {};
        // Any exception that broke pytest itself ends it.
        const bool of_session = last.pseudo && last.id == record.path + "::<session>";
        return of_session || std::ranges::count(kExitTypes, type) > 0 ? type : std::string_view();
    }

    [[nodiscard]] bool is_pytest() const { return framework.framework == Framework::pytest; }
};

}  // namespace

void resolve_unfinished(ModuleRecord& record, std::span<const Progress> progress,
                        const Course& course, const ProcessEnd& end) {
    Resolving{record, progress, course, end}.resolve();
}

}  // namespace compat::parsers
