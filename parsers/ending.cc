#include "parsers/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "parsers/closing.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using EndKind = ProcessEnd::Kind;

// What each kind of end makes of the module, and of whatever was under way.
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

bool is_broken(State state) { return state == State::failed || state == State::errored; }

// What the framework's own exit code is about.
struct Verdict {
    bool broken = false;     // a test failed in the framework's eyes
    bool nothing = true;     // it may have counted no test at all
    bool unreached = false;  // it stopped before the last test
};

// What became of the module.
struct Finding {
    ModuleOutcome outcome;
    std::string reason;
    std::string not_run;  // the reason of the tests that never began
    // A row for what happened outside of any test: in the fixture of this id, or in the module
    // (empty).
    std::optional<std::string> row{};
};

class Settling {
  public:
    Settling(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
             const ProcessEnd& end)
        : record_(record), progress_(progress), course_(course), end_(end) {
        // A record that names none of our frameworks is taken for unittest's.
        if (const FrameworkTraits* named = compat::traits_of(record.framework)) framework_ = named;
    }

    void settle() {
        const CaseRecord* overdue = settle_overdue();
        Finding found = course_.finished ? finished(overdue) : cut_short(overdue);
        record_.ready = course_.ready || course_.finished;
        record_.finished = course_.finished;
        record_.outcome = found.outcome;
        record_.reason = std::move(found.reason);
        for (size_t i = 0; i < progress_.size(); ++i) {
            CaseRecord& c = record_.cases[i];
            if (progress_[i] != Progress::ended && c.state == State::not_run && c.reason.empty())
                c.reason = found.not_run;
        }
        if (found.row) add_row(*found.row);
    }

  private:
    Finding finished(const CaseRecord* overdue) {
        for (size_t i = 0; i < progress_.size(); ++i)
            if (progress_[i] == Progress::started)
                record_.cases[i].reason = "it began and never ended";
        if (auto error = load_error()) return *error;
        const std::string not_run = "the framework stopped before it ran";
        if (overdue) return {ModuleOutcome::timed_out, how_ + " in " + overdue->id, not_run};
        if (end_.kind != EndKind::exited && traits_.is_death)
            return {traits_.outcome, how_ + " at exit, after its tests", not_run, ""};
        if (!record_.cases.empty()) return by_exit_code(not_run);
        if (end_.kind == EndKind::exited && end_.code != 0 &&
            end_.code != framework_->exit_code_no_tests)
            return {ModuleOutcome::crashed, how_ + " without any test", not_run, ""};
        return {ModuleOutcome::no_tests, "it holds no tests", not_run};
    }

    Finding cut_short(const CaseRecord* died_in) {
        const bool overdue = died_in != nullptr;
        for (size_t i = 0; i < progress_.size() && !overdue; ++i) {
            if (progress_[i] != Progress::started) continue;
            record_.cases[i].state = traits_.inside;
            record_.cases[i].reason = how_;
            died_in = &record_.cases[i];
        }
        Finding found{traits_.outcome, how_, how_};
        if (!traits_.is_death) {
            if (end_.kind != EndKind::not_run && record_.cases.empty()) found.row = "";
            return found;
        }
        if (died_in) {
            const bool hung = traits_.inside == State::timed_out;
            found.reason += " in " + died_in->id;
            found.not_run =
                fmt::format("the module {} in {}", hung ? "timed out" : "crashed", died_in->id);
            return found;
        }
        // The harness had already said why; that it then exited is no second finding.
        if (auto error = load_error(); error && end_.kind == EndKind::exited) return *error;
        if (const std::string_view type = exit_asked_for(); !type.empty()) {
            found.reason += fmt::format(
                " by {} in {}", type,
                course_.fixture.empty() ? record_.cases[*course_.last_end].id : course_.fixture);
            found.not_run = found.reason;
            return found;
        }
        return outside_tests();
    }

    Finding outside_tests() const {
        const std::string& fixture = course_.fixture;
        std::string where = " before the framework had finished";
        for (size_t i = 0; i < progress_.size(); ++i)
            if (progress_[i] == Progress::ended && !record_.cases[i].pseudo)
                where = " outside any test, after " + record_.cases[i].id;
        const std::string in = fixture.empty() ? "" : " in " + fixture;
        if (!fixture.empty()) where = in;
        if (!course_.ready) where = " while the module was loaded";
        return {traits_.outcome, how_ + where,
                traits_.inside == State::timed_out
                    ? fmt::format("the module timed out{} before it ran", in)
                    : fmt::format("the process ended with {}{} before it ran", how_, in),
                fixture};
    }

    void add_row(const std::string& fixture) {
        CaseRecord row;
        row.id = fixture.empty() ? record_.path + "::<module>" : fixture;
        row.name = fixture.empty() ? "<module>" : fixture.substr(fixture.rfind("::") + 2);
        row.state = traits_.inside;
        row.reason = record_.reason;
        row.phase = Phase::load;
        for (const auto& [name, phase] : kFixturePhases)
            if (row.name == name) row.phase = phase;
        row.pseudo = true;
        const std::string plain = row.id;
        for (int n = 2; std::ranges::count(record_.cases, row.id, &CaseRecord::id) > 0; ++n)
            row.id = fmt::format("{}#{}", plain, n);
        record_.cases.push_back(std::move(row));
        ++record_.collected;
    }

    // Why the module could not be loaded; nothing where some of its tests ran all the same.
    [[nodiscard]] std::optional<Finding> load_error() const {
        const auto is_error = [](const CaseRecord& c) {
            return c.pseudo && c.phase == Phase::load && c.state == State::errored;
        };
        const auto has_run = [](const CaseRecord& c) { return c.started && !c.pseudo; };
        const auto error = std::ranges::find_if(record_.cases, is_error);
        if (error == record_.cases.end() || std::ranges::any_of(record_.cases, has_run))
            return std::nullopt;
        return Finding{ModuleOutcome::load_error, error->why(), "collection failed"};
    }

    // The test for whose time-out the process was ended, where it has ended nevertheless.
    const CaseRecord* settle_overdue() {
        if (end_.kind != EndKind::timed_out || !end_.of_test || end_.limit_s <= 0) return nullptr;
        for (size_t i = progress_.size(); i-- > 0;) {
            CaseRecord& c = record_.cases[i];
            if (progress_[i] != Progress::ended || c.pseudo || c.duration_s < end_.limit_s)
                continue;
            if (!c.call_state) c.call_state = c.state;
            c.state = State::timed_out;
            c.reason = how_;
            return &c;
        }
        return nullptr;
    }

    [[nodiscard]] Verdict verdict() const {
        Verdict verdict;
        for (const CaseRecord& c : record_.cases) {
            // That one died and its framework went on is what CTest alone may say.
            verdict.broken = verdict.broken || is_broken(c.state) || c.state == State::crashed ||
                             c.state == State::timed_out ||
                             (!is_pytest() && c.state == State::xpassed) ||
                             std::ranges::any_of(c.subcases, is_broken, &SubCase::state);
            // pytest counts what it collected; unittest what it started, in 3.12.1 without the
            // skipped.
            if (is_pytest() ? !c.pseudo : c.started && c.state != State::skipped)
                verdict.nothing = false;
            verdict.unreached = verdict.unreached || c.state == State::not_run;
        }
        for (const std::string_view word : kBrokenWords)
            if (record_.closing && count_in(*record_.closing, word) > 0) verdict.broken = true;
        return verdict;
    }

    [[nodiscard]] bool gives(const Verdict& verdict, int code) const {
        if (code == (verdict.broken ? framework_->exit_code_failed : 0)) return true;
        if (code == framework_->exit_code_no_tests) return verdict.nothing;
        // pytest stops early with either, as the plugin that stops it chooses.
        return is_pytest() && verdict.unreached &&
               (code == framework_->exit_code_failed || code == kInterrupted);
    }

    // Not completed where the tests do not explain the exit code that came after them.
    Finding by_exit_code(const std::string& not_run) {
        const Verdict found = verdict();
        if (end_.kind != EndKind::exited || gives(found, end_.code))
            return {ModuleOutcome::completed, "", not_run};
        const std::string what = how_ + " after its tests, which alone would give ";
        if (!found.broken) {
            const int nothing = found.nothing ? framework_->exit_code_no_tests : 0;
            return {ModuleOutcome::crashed,
                    what + (nothing != 0 ? fmt::format("0 or {}", nothing) : "0"), not_run, ""};
        }
        if (end_.code != 0)
            record_.diagnostics.push_back(
                {"events", 0, what + std::to_string(framework_->exit_code_failed)});
        return {ModuleOutcome::completed, "", not_run};
    }

    // The name of the exception by which the last case to end had the process end, too; empty where
    // it did not, or where the process died in another way after it.
    [[nodiscard]] std::string_view exit_asked_for() const {
        if (!course_.last_end) return {};
        const CaseRecord& last = record_.cases[*course_.last_end];
        if (last.state != State::errored || !last.failure) return {};
        const std::string_view type = last.failure->type;
        // Python ends by the signal itself where nothing catches a KeyboardInterrupt.
        const bool by_signal = end_.kind == EndKind::signaled && end_.code == SIGINT;
        if (by_signal && type == "KeyboardInterrupt") return type;
        if (end_.kind != EndKind::exited) return {};
        // What broke pytest itself ends it, whatever it was.
        const bool of_session = last.pseudo && last.id == record_.path + "::<session>";
        return of_session || std::ranges::count(kExitTypes, type) > 0 ? type : std::string_view();
    }

    [[nodiscard]] bool is_pytest() const { return framework_->framework == Framework::pytest; }

    ModuleRecord& record_;
    std::span<const Progress> progress_;
    const Course& course_;
    const ProcessEnd& end_;
    const EndTraits& traits_ = kEnds[static_cast<size_t>(end_.kind)];
    const std::string how_ = explain(end_);
    const FrameworkTraits* framework_ = &kFrameworks.front();
};

}  // namespace

void settle(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
            const ProcessEnd& end) {
    Settling(record, progress, course, end).settle();
}

}  // namespace compat::parsers
