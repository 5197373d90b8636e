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

class Settling {
  public:
    Settling(ModuleRecord& record, std::span<const Progress> progress, const Course& course,
             const ProcessEnd& end)
        : record_(record), progress_(progress), course_(course), end_(end) {
        // A record that names none of our frameworks is taken for unittest's.
        if (const FrameworkTraits* named = compat::traits_of(record.framework)) framework_ = named;
    }

    void settle_finished() {
        const CaseRecord* overdue = settle_overdue();
        for (size_t i = 0; i < progress_.size(); ++i)
            if (progress_[i] == Progress::started)
                record_.cases[i].reason = "it began and never ended";
        if (settle_load_error()) return;
        set_not_run("the framework stopped before it ran");
        if (overdue) {
            record_.outcome = ModuleOutcome::timed_out;
            record_.reason = how_ + " in " + overdue->id;
        } else if (end_.kind != EndKind::exited && traits_.is_death) {
            record_.outcome = traits_.outcome;
            record_.reason = how_ + " at exit, after its tests";
            add_outside_row(traits_.inside);
        } else if (record_.cases.empty()) {
            settle_without_tests();
        } else {
            record_.outcome = ModuleOutcome::completed;
            settle_exit_code();
        }
    }

    void settle_cut_short() {
        record_.outcome = traits_.outcome;
        const CaseRecord* died_in = settle_overdue();
        const bool overdue = died_in != nullptr;
        for (size_t i = 0; i < progress_.size() && !overdue; ++i) {
            if (progress_[i] != Progress::started) continue;
            record_.cases[i].state = traits_.inside;
            record_.cases[i].reason = how_;
            died_in = &record_.cases[i];
        }
        record_.reason = how_;
        if (!traits_.is_death) {
            set_not_run(how_);
            if (end_.kind != EndKind::not_run && record_.cases.empty())
                add_outside_row(State::not_run);
        } else if (died_in) {
            const bool hung = traits_.inside == State::timed_out;
            record_.reason += " in " + died_in->id;
            set_not_run(
                fmt::format("the module {} in {}", hung ? "timed out" : "crashed", died_in->id));
        } else if (end_.kind == EndKind::exited && settle_load_error()) {
            // The harness had already said why; that it then exited is no second finding.
        } else if (const std::string_view type = exit_asked_for(); !type.empty()) {
            record_.reason += fmt::format(
                " by {} in {}", type,
                course_.fixture.empty() ? record_.cases[*course_.last_end].id : course_.fixture);
            set_not_run(record_.reason);
        } else {
            settle_outside_tests();
        }
    }

  private:
    // A row for what happened outside of any test: in the fixture of that id, or in the module.
    void add_outside_row(State state, const std::string& fixture = {}) {
        CaseRecord row;
        row.id = fixture.empty() ? record_.path + "::<module>" : fixture;
        row.name = fixture.empty() ? "<module>" : fixture.substr(fixture.rfind("::") + 2);
        row.state = state;
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

    void set_not_run(const std::string& reason) {
        for (size_t i = 0; i < progress_.size(); ++i) {
            CaseRecord& c = record_.cases[i];
            if (progress_[i] != Progress::ended && c.state == State::not_run && c.reason.empty())
                c.reason = reason;
        }
    }

    // Whether the module could not be loaded; not where some of its tests ran all the same.
    bool settle_load_error() {
        const auto is_error = [](const CaseRecord& c) {
            return c.pseudo && c.phase == Phase::load && c.state == State::errored;
        };
        const auto error = std::ranges::find_if(record_.cases, is_error);
        if (error == record_.cases.end() ||
            std::ranges::any_of(record_.cases,
                                [](const CaseRecord& c) { return c.started && !c.pseudo; }))
            return false;
        record_.outcome = ModuleOutcome::load_error;
        record_.reason = error->why();
        set_not_run("collection failed");
        return true;
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

    void settle_without_tests() {
        const bool empty = end_.kind != EndKind::exited || end_.code == 0 ||
                           end_.code == framework_->exit_code_no_tests;
        record_.outcome = empty ? ModuleOutcome::no_tests : ModuleOutcome::crashed;
        record_.reason = empty ? "it holds no tests" : how_ + " without any test";
        if (!empty) add_outside_row(State::crashed);
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

    // An exit code after the tests that they do not explain.
    void settle_exit_code() {
        const Verdict found = verdict();
        if (end_.kind != EndKind::exited || gives(found, end_.code)) return;
        const std::string what = how_ + " after its tests, which alone would give ";
        if (!found.broken) {
            const int nothing = framework_->exit_code_no_tests;
            record_.outcome = ModuleOutcome::crashed;
            record_.reason =
                what + (found.nothing && nothing != 0 ? fmt::format("0 or {}", nothing) : "0");
            add_outside_row(State::crashed);
        } else if (end_.code != 0) {
            record_.diagnostics.push_back(
                {"events", 0, what + std::to_string(framework_->exit_code_failed)});
        }
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

    void settle_outside_tests() {
        const std::string& fixture = course_.fixture;
        std::string last_ended;
        for (size_t i = 0; i < progress_.size(); ++i)
            if (progress_[i] == Progress::ended && !record_.cases[i].pseudo)
                last_ended = record_.cases[i].id;
        const std::string in = fixture.empty() ? "" : " in " + fixture;
        record_.reason += !course_.ready        ? " while the module was loaded"
                          : !fixture.empty()    ? in
                          : !last_ended.empty() ? " outside any test, after " + last_ended
                                                : " before the framework had finished";
        set_not_run(traits_.inside == State::timed_out
                        ? fmt::format("the module timed out{} before it ran", in)
                        : fmt::format("the process ended with {}{} before it ran", how_, in));
        add_outside_row(traits_.inside, fixture);
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
    record.ready = course.ready || course.finished;
    record.finished = course.finished;
    Settling settling(record, progress, course, end);
    if (course.finished)
        settling.settle_finished();
    else
        settling.settle_cut_short();
}

}  // namespace compat::parsers
