#include "reports/markdown/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "reports/attribution_parts.h"
#include "reports/compare/compare.h"
#include "reports/gap_parts.h"
#include "reports/markdown/failures.h"
#include "reports/markdown/fitting.h"
#include "reports/markdown/summary.h"
#include "reports/markdown/text.h"
#include "runner/base/text.h"

namespace compat::reports {

using parsers::ModuleOutcome;
using parsers::State;

namespace {

constexpr size_t kLongestCell = 200;
constexpr size_t kSlowest = 10;
constexpr double kSlow = 0.1;       // seconds; faster tests are never listed
constexpr size_t kSitesShown = 50;  // of redirections and collectives; report.json has all
constexpr size_t kGroupsOfChanges = 20, kTestsOfChange = 20;

std::string seconds(double s) { return format_duration(std::chrono::duration<double>(s)); }

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// "60 passed, 1 failed": the states that occur.
std::string format_state_counts(const StateCounts& states) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < states.size(); ++i)
        if (states[i] > 0)
            parts.push_back(fmt::format("{} {}", states[i], parsers::kStateNames[i]));
    return parts.empty() ? "no test" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string place(const std::string& file, int line) {
    return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

// A test that broke as expected, or passed and was expected to break.
Item expectation_item(const CaseView& test) {
    return {fmt::format("- {}: {}\n", linked_code(test.id, test.url),
                        code(describe_expectation(test.state, *test.expectation)))};
}

Item entry_note(const EntryNoteView& note) {
    return {fmt::format("- {}: {}{}\n", code(note.test), describe_note(note),
                        note.reason.empty() ? "" : "; " + code(note.reason))};
}

// A flaky or fork-sensitive test, with what went wrong in its attempts.
Item unstable_test(const CaseView& test) {
    std::string states;
    for (const AttemptView& attempt : test.attempts)
        states +=
            fmt::format("{}{}{}", states.empty() ? "" : ", then ", name_of(attempt.state),
                        attempt.key_line.empty() ? "" : " " + code(attempt.key_line, kLongestCell));
    return {fmt::format("- {}: {}\n", linked_code(test.id, test.url), states)};
}

Item incomplete_module(const ModuleView& module) {
    std::string text =
        fmt::format("- **{}**: {}", name_of(module.outcome), linked_code(module.path, module.url));
    if (!module.reason.empty()) text += ": " + code(module.reason);
    if (!module.process_end.empty() && module.process_end != module.reason)
        text += fmt::format(" ({})", code(module.process_end));
    if (module.attempts == 0)
        text += module.last_known_cases
                    ? fmt::format("; when it last ran it had {} tests", *module.last_known_cases)
                    : std::string("; how many tests it has is not known");
    if (!module.log_url.empty()) text += ", " + linked_code("log", module.log_url);
    return {text + "\n"};
}

std::string module_row(const ModuleView& module) {
    const auto tests = std::accumulate(module.states.begin(), module.states.end(), std::int64_t{0});
    return row(linked_code(module.path, module.url), name_of(module.outcome), tests,
               format_state_counts(module.states), seconds(module.duration_s)) +
           "\n";
}

// "- **76 tests**: `OSError: …`. Let the tests reach the network once. For example `…`."
std::string step_line(const FirstStep& step) {
    std::vector<std::string> counts;
    if (step.tests > 0) counts.push_back(counted(step.tests, "test"));
    if (step.modules > 0) counts.push_back(counted(step.modules, "module") + " not loaded");
    std::vector<std::string> places;
    for (const StepPlace& at : step.places)
        places.push_back(fmt::format("{} ({})", linked_code(at.place, at.url), at.tests));
    return fmt::format("- **{}**: {}{}. {}For example {}\n", fmt::join(counts, ", "),
                       code(step.title, kLongestCell),
                       step.advice.empty() ? "" : ": " + prose(step.advice),
                       places.empty() ? "" : fmt::format("At {}. ", fmt::join(places, ", ")),
                       linked_code(step.example, step.url));
}

// A long value, as the list of installed packages, is folded below the table.
std::vector<Item> environment(const RunView& run) {
    std::vector<Item> rows, below;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) rows.push_back({row(name, code(value)) + "\n"});
    };
    add("suite", run.suite);
    add("commit", run.commit + (run.dirty && !run.commit.empty() ? " (changed since)" : ""));
    add("root", run.root);
    add("series", run.series);
    add("framework", run.framework);
    add("torch", run.torch);
    if (!run.imported) add("shim", run.shim ? "on" : "off");
    add("policy", run.policy);
    if (run.masquerade) add("masquerade", "on");
    add("device", run.device);
    add("simulated", run.simulated.value_or(""));
    if (!run.imported) add("fallback", run.fallback ? "on" : "off");
    if (run.isolation != "off")
        add("isolation", run.isolation + (run.network ? "" : ", without a network"));
    if (run.hub != "off") add("hub", run.hub);
    add("part of the suite", run.part);
    add("command", run.command);
    const auto fingerprint = nlohmann::ordered_json::parse(run.fingerprint);
    for (const auto& [key, value] : fingerprint.items()) {
        const std::string text =
            value.is_string() ? value.get<std::string>() : json_text(value, -1);
        if (text.size() <= kLongestCell)
            add(code(key), text);
        else
            below.push_back({"\n" + folded(html(key), fenced("json", json_text(value, 1)))});
    }
    std::move(below.begin(), below.end(), std::back_inserter(rows));
    return rows;
}

std::string_view format_place(std::string_view place) {
    if (place == "source") return "the run's copy of the source";
    return place == "home" ? "the run's HOME" : "its TMPDIR";
}

// A load failure with a known cause is a row of the model's load_failures.
bool is_load_failure(const ModuleView& module) {
    return module.outcome == ModuleOutcome::load_error &&
           std::any_of(module.cases.begin(), module.cases.end(),
                       [](const CaseView& test) { return test.failure.has_value(); });
}

// Keeps what the page can show, and of all modules a row, reasons of skips and the slowest tests.
class MarkdownReport : public Renderer {
  public:
    MarkdownReport(const ReportModel& model, size_t max_bytes, Sink sink)
        : page_(max_bytes), sink_(std::move(sink)), failures_of_run_(model) {
        not_run_.intro = "| tests | reason |\n|---:|---|\n";
        skips_.intro = "| tests | reason | for example |\n|---:|---|---|\n";
        slowest_.intro = "| time | test |\n|---:|---|\n";
        page_.head =
            headline(model) + blind_spots(model) + unused_device(model) + no_verdict(model.run);
        for (Section* section : {&how_it_passed_, &skips_, &modules_, &redirections_, &collectives_,
                                 &slowest_, &diagnostics_, &environment_})
            section->folded = true;
        add_changes(model);
        add_first_steps(model);
        totals_.intro = describe_totals(model);
        how_it_passed_.intro = how_it_passed(model);
        add_mismatches(model);
        if (const auto& view = model.expectations; view.entries > 0)
            page_.add(expectations_,
                      {fmt::format("{}; {} in {}\n\n", describe_expectations(view),
                                   counted(view.entries, "entry", "entries"), code(view.file))});
        for (const EntryNoteView& note : model.expectations.notes)
            page_.add(expectations_, entry_note(note));
        add_causes(model);
        add_gaps(model);
        add_load_failures(model);
        add_redirections(model);
        add_collectives(model.collectives);
        add_refusals(model);
        for (const LeakedView& p : model.leaked_processes)
            page_.add(leaked_,
                      {fmt::format("- {}: process {}, {}{}\n", code(p.module), p.pid,
                                   code(p.command), p.killed ? "" : " (it could not be killed)")});
        for (const WrittenFiles& writes : model.run.writes) add_writes_of(writes);
        environment_.intro = "| | |\n|---|---|\n";
        for (Item& line : environment(model.run)) page_.add(environment_, std::move(line));
    }

    void add(const ModuleView& module) override {
        if (module.outcome != ModuleOutcome::completed && !is_load_failure(module))
            page_.add(incomplete_, incomplete_module(module));
        add_to_folder(module);
        if (module.dropped_log_bytes > 0)
            page_.add(diagnostics_,
                      {fmt::format("- {}: {} bytes from the middle of its log were dropped\n",
                                   code(module.path), module.dropped_log_bytes)});
        for (const std::string& diagnostic : module.diagnostics)
            page_.add(diagnostics_,
                      {fmt::format("- {}: {}\n", code(module.path), code(diagnostic))});
        for (const CaseView& test : module.cases) add(test);
    }

    void finish() override {
        for (Item& item : failures_of_run_.items()) page_.add(failures_, std::move(item));
        for (const auto& [reason, count] : reasons_not_run_)
            page_.add(not_run_, {row(count, code(reason)) + "\n"});
        finish_skips();
        finish_folders();
        for (const SlowTest& test : slow_tests_)
            page_.add(slowest_,
                      {row(seconds(test.duration_s), linked_code(test.id, test.url)) + "\n"});
        page_.write(sink_);
    }

  private:
    struct Skips {
        std::int64_t count = 0;
        std::string example;  // Markdown
    };
    struct Folder {
        StateCounts states{};
        std::vector<std::string> rows;  // of its modules
    };
    struct SlowTest {
        double duration_s = 0;
        std::string id;
        std::string url;

        [[nodiscard]] bool before(double other_s, const std::string& other) const {
            return duration_s != other_s ? duration_s > other_s : id < other;
        }
    };

    void add(const CaseView& test) {
        const bool expected = fails_as_expected(test.expectation);
        if (expected || passes_unexpectedly(test.expectation))
            page_.add(expected ? expected_ : unexpected_passes_, expectation_item(test));
        if (needs_attention(test.state) && !expected) failures_of_run_.add(test);
        if (test.state == State::xpassed)
            page_.add(xpassed_, {fmt::format("- {} {}\n", linked_code(test.id, test.url),
                                             code(test.reason))});
        if (test.flaky) page_.add(flaky_, unstable_test(test));
        if (test.fork_sensitive) page_.add(fork_sensitive_, unstable_test(test));
        if (test.state == State::not_run) ++reasons_not_run_[test.reason];
        if (test.state == State::skipped) {
            Skips& skips = reasons_of_skips_[test.reason];
            if (skips.count++ == 0) skips.example = linked_code(test.id, test.url);
        }
        if (test.duration_s >= kSlow) add_slow(test);
    }

    void add_mismatches(const ReportModel& model) {
        mismatches_.intro =
            "These figures do not agree; the totals below cannot be relied upon.\n\n";
        for (const AccountingMismatch& m : model.accounting.mismatches)
            page_.add(mismatches_,
                      {fmt::format("- {}{}\n", m.module.empty() ? "" : code(m.module) + ": ",
                                   code(m.message))});
    }

    void add_writes_of(const WrittenFiles& writes) {
        constexpr size_t kShown = 20;
        page_.add(writes_, {fmt::format("- {} in {}, {}\n", counted(writes.count, "file"),
                                        format_place(writes.place),
                                        format_size(static_cast<std::uint64_t>(writes.bytes)))});
        for (size_t i = 0; i < std::min(kShown, writes.files.size()); ++i)
            page_.add(writes_, {fmt::format("  - {}: {}\n", code(writes.files[i].path),
                                            writes.files[i].change)});
        if (writes.files.size() > kShown)
            page_.add(writes_, {fmt::format("  - and {} more: report.json has all\n",
                                            writes.files.size() - kShown)});
    }

    void add_changes(const ReportModel& model) {
        if (!model.changes) return;
        ChangesText text = changes_markdown(*model.changes, kGroupsOfChanges, kTestsOfChange);
        changes_.intro = std::move(text.intro);
        if (text.groups.empty()) text.groups.emplace_back("No test changed.\n");
        for (std::string& group : text.groups) page_.add(changes_, {std::move(group)});
    }

    void add_first_steps(const ReportModel& model) {
        if (model.first_steps.size() >= kFirstSteps)
            first_steps_.intro = fmt::format(
                "At most {}: those that remove most failures. All failures are below.\n\n",
                kFirstSteps);
        for (const FirstStep& step : model.first_steps) page_.add(first_steps_, {step_line(step)});
    }

    void add_causes(const ReportModel& model) {
        std::string causes;
        for (const auto& [cause, tests] : causes_by_tests(model)) {
            const auto expected = model.expected_causes.find(cause);
            const std::int64_t unexpected =
                tests - (expected == model.expected_causes.end() ? 0 : expected->second);
            if (unexpected > 0) causes += row(unexpected, code(cause), cause_means(cause)) + "\n";
        }
        if (!causes.empty())
            failures_.intro = fmt::format(
                "| tests | cause | means |\n|---:|---|---|\n{}\nWhere to look first: "
                "docs/reference/diagnosis.md.\n\n",
                causes);
    }

    void add_gaps(const ReportModel& model) {
        gaps_.intro = kGapTableHead;
        for (const GapView& gap : model.gaps) page_.add(gaps_, {gap_row(gap)});
    }

    void add_load_failures(const ReportModel& model) {
        load_failures_.intro = "| modules | what went wrong | for example |\n|---:|---|---|\n";
        for (const LoadFailureView& f : model.load_failures)
            page_.add(load_failures_, {row(f.modules, code(f.key_line, kLongestCell),
                                           linked_code(f.module, f.url)) +
                                       "\n"});
    }

    void add_redirections(const ReportModel& model) {
        redirections_.intro =
            "| count | tests | kind | operation | requested | got | where |\n"
            "|---:|---:|---|---|---|---|---|\n";
        const size_t shown = std::min(model.redirections.size(), kSitesShown);
        for (size_t i = 0; i < shown; ++i) {
            const RedirectionView& r = model.redirections[i];
            page_.add(redirections_, {row(r.count, r.tests, code(r.kind), code(r.op), code(r.from),
                                          code(r.to), linked_code(place(r.file, r.line), r.url)) +
                                      "\n"});
        }
        if (shown < model.redirections.size())
            page_.add(redirections_, {fmt::format("\n{} sites more are in report.json.\n",
                                                  model.redirections.size() - shown)});
    }

    void add_collectives(const CollectivesView& view) {
        if (!view.any()) return;
        collectives_.intro = fmt::format(
            "{}.\n{}.\n\n| calls | operation | bytes | group | ranks | where |\n"
            "|---:|---|---:|---|---:|---|\n",
            analysis::describe_collectives(view.figures),
            analysis::describe_ring(view.figures, view.link));
        const size_t shown = std::min(view.sites.size(), kSitesShown);
        for (size_t i = 0; i < shown; ++i) {
            const CollectiveView& c = view.sites[i];
            page_.add(collectives_,
                      {row(c.count, code(c.op), format_size(static_cast<std::uint64_t>(c.bytes)),
                           code(c.group), c.ranks,
                           c.file.empty() ? "(no Python frame)"
                                          : linked_code(place(c.file, c.line), c.url)) +
                       "\n"});
        }
        if (shown < view.sites.size())
            page_.add(collectives_, {fmt::format("\n{} sites more are in report.json.\n",
                                                 view.sites.size() - shown)});
    }

    void add_refusals(const ReportModel& model) {
        refusals_.intro = "| tests | calls | what the device says | where |\n|---:|---:|---|---|\n";
        std::vector<const RedirectionView*> refusals;
        for (const RedirectionView& r : model.redirections)
            if (!r.message.empty()) refusals.push_back(&r);
        std::stable_sort(refusals.begin(), refusals.end(),
                         [](const auto* a, const auto* b) { return a->tests > b->tests; });
        for (const RedirectionView* r : refusals)
            page_.add(refusals_, {row(r->tests, r->count, code(r->message, kLongestCell),
                                      linked_code(place(r->file, r->line), r->url)) +
                                  "\n"});
    }

    void add_slow(const CaseView& test) {
        const auto at = std::find_if(
            slow_tests_.begin(), slow_tests_.end(),
            [&](const SlowTest& slow) { return !slow.before(test.duration_s, test.id); });
        if (at == slow_tests_.end() && slow_tests_.size() == kSlowest) return;
        slow_tests_.insert(at, {test.duration_s, test.id, test.url});
        if (slow_tests_.size() > kSlowest) slow_tests_.pop_back();
    }

    void add_to_folder(const ModuleView& module) {
        const size_t slash = module.path.rfind('/');
        Folder& folder = folders_[slash == std::string::npos ? "." : module.path.substr(0, slash)];
        for (size_t i = 0; i < folder.states.size(); ++i) folder.states[i] += module.states[i];
        folder.rows.push_back(module_row(module));
    }

    void finish_skips() {
        std::vector<std::pair<std::string, Skips>> sorted(reasons_of_skips_.begin(),
                                                          reasons_of_skips_.end());
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
            return a.second.count > b.second.count;
        });
        for (const auto& [reason, skips] : sorted)
            page_.add(skips_, {row(skips.count, reason.empty() ? "(none given)" : code(reason, 200),
                                   skips.example) +
                               "\n"});
    }

    void finish_folders() {
        bool first = true;
        for (const auto& [name, folder] : folders_) {
            // The head belongs to the first module, so that both are dropped together.
            std::string head = fmt::format(
                "{}### {}: {}, {}\n\n| module | outcome | tests | states | time |\n"
                "|---|---|---:|---|---:|\n",
                std::exchange(first, false) ? "" : "\n", code(name),
                counted(static_cast<long>(folder.rows.size()), "module"),
                format_state_counts(folder.states));
            for (const std::string& module : folder.rows)
                page_.add(modules_, {std::exchange(head, {}) + module});
        }
    }

    Document page_;
    Sink sink_;
    // In the order of the page. The numbers rank items and details: the lowest is dropped first.
    Section& mismatches_ = page_.open("Accounting does not close", "mismatches", {.items = 100});
    Section& changes_ = page_.open("What changed", "causes of changes", {.items = 95});
    Section& first_steps_ = page_.open("What to do first", "first steps", {.items = 96});
    Section& totals_ = page_.open("Totals");
    Section& expectations_ = page_.open("Expectations", "lines about expectations", {.items = 92});
    Section& unexpected_passes_ =
        page_.open("Passes that were expected to fail", "unexpected passes", {.items = 89});
    Section& refusals_ =
        page_.open("What the device refused", "refusals that were not raised", {.items = 91});
    Section& failures_ = page_.open("Failures by cause", "causes of failures",
                                    {.items = 90, .details = 50}, "tracebacks and lists of tests");
    Section& gaps_ = page_.open("Gaps that this run met", "gaps", {.items = 86});
    Section& expected_ = page_.open("Failures as expected", "expected failures", {.items = 42});
    Section& load_failures_ =
        page_.open("Modules that could not be loaded", "causes of load failures", {.items = 87});
    Section& incomplete_ =
        page_.open("Modules that did not complete", "modules that did not complete", {.items = 85});
    Section& not_run_ = page_.open("Tests not run", "reasons why tests did not run", {.items = 70});
    Section& flaky_ = page_.open("Flaky tests", "flaky tests", {.items = 75});
    Section& fork_sensitive_ = page_.open("Tests that broke only in a forked process",
                                          "fork-sensitive tests", {.items = 74});
    Section& xpassed_ = page_.open("Tests marked as expected failures that passed",
                                   "tests marked as expected failures", {.items = 72});
    Section& how_it_passed_ = page_.open("How it passed");
    Section& skips_ = page_.open("Skips by reason", "reasons of skips", {.items = 40});
    Section& modules_ = page_.open("Modules by folder", "modules", {.items = 35});
    Section& redirections_ = page_.open("Redirections", "sites of redirection", {.items = 30});
    Section& collectives_ = page_.open("Collectives", "lines that call collectives", {.items = 32});
    Section& slowest_ = page_.open("Slowest tests", "slowest tests", {.items = 10});
    Section& leaked_ = page_.open("Leaked processes", "leaked processes", {.items = 60});
    Section& writes_ = page_.open("Files that the tests wrote", "written files", {.items = 58});
    Section& diagnostics_ =
        page_.open("Odd things in the files of this run", "odd things", {.items = 20});
    Section& environment_ = page_.open("Environment", "lines of the environment", {.items = 65});
    FailureEntries failures_of_run_;
    std::map<std::string, std::int64_t> reasons_not_run_;
    std::map<std::string, Skips> reasons_of_skips_;
    std::map<std::string, Folder> folders_;
    std::vector<SlowTest> slow_tests_;
};

}  // namespace

std::string describe_attribution(const AttributionView& attribution) {
    return fmt::format(
        "{}: {}{}{}", code(attribution.cause), attribution.words,
        attribution.as.empty() ? "" : fmt::format(" (as {})", code(attribution.as)),
        attribution.run.empty() ? "" : fmt::format(" (run {})", code(attribution.run)));
}

std::unique_ptr<Renderer> markdown_report(const ReportModel& model, size_t max_bytes, Sink sink) {
    return std::make_unique<MarkdownReport>(model, max_bytes, std::move(sink));
}

}  // namespace compat::reports
