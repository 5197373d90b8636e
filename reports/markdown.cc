#include "reports/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/fitting.h"
#include "reports/markdown_text.h"

namespace compat::reports {

using parsers::ModuleOutcome;
using parsers::State;

namespace {

constexpr size_t kLongestCell = 200;
constexpr size_t kSlowest = 10;
constexpr double kSlow = 0.1;  // seconds: what is faster is not slow, even where nothing is slower
// Of one traceback; the log and report.json have all of it.
constexpr size_t kTracebackBytes = 16 * 1024;

// A table's row without its line end. Cells are Markdown already.
template <class... Cells>
std::string row(const Cells&... cells) {
    std::string line = "|";
    ((line += fmt::format(" {} |", cell(fmt::to_string(cells)))), ...);
    return line;
}

// "1 module", "2 modules".
std::string counted(size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string seconds(double s) { return human(std::chrono::duration<double>(s)); }

std::string dumped(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "60 passed, 1 failed": the states that occur.
std::string in_words(const StateCounts& states) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < states.size(); ++i)
        if (states[i] > 0)
            parts.push_back(fmt::format("{} {}", states[i], parsers::kStateNames[i]));
    return parts.empty() ? "no test" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string place(const std::string& file, int line) {
    return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

size_t bad_count(const Totals& totals) {
    std::int64_t sum = 0;
    for (size_t i = 0; i < totals.states.size(); ++i)
        if (needs_attention(static_cast<State>(i))) sum += totals.states[i];
    return static_cast<size_t>(sum);
}

template <class Function>
void for_each_case(const ReportModel& model, Function function) {
    for (const ModuleView& module : model.modules)
        for (const CaseView& test : module.cases) function(module, test);
}

std::string device_words(const RunView& run) {
    return run.simulated ? *run.simulated + " (simulated)" : run.device;
}

// "4 tests to look at, 1 module without a result".
std::string what_needs_attention(const ReportModel& model) {
    const auto modules = static_cast<size_t>(
        std::count_if(model.modules.begin(), model.modules.end(), [](const ModuleView& module) {
            return module.outcome != ModuleOutcome::completed &&
                   module.outcome != ModuleOutcome::no_tests && module.cases.empty();
        }));
    std::vector<std::string> parts;
    if (const size_t tests = bad_count(model.totals); tests > 0)
        parts.push_back(fmt::format("{} to look at", counted(tests, "test")));
    if (modules > 0)
        parts.push_back(fmt::format("{} without a result", counted(modules, "module")));
    if (!model.accounting.closed) parts.emplace_back("accounting not closed");
    return parts.empty() ? "nothing needs attention" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const ReportModel& model) {
    const RunView& run = model.run;
    return fmt::format(
        "# {}: {}, {}\n\nRun {}, started {}, {} after {}; shim {}, device {}, torch {}.\n",
        code(run.suite), counted(static_cast<size_t>(model.totals.collected), "test"),
        what_needs_attention(model), code(run.id), iso8601(run.started),
        run.complete ? "complete" : "**not complete**", seconds(run.duration_s),
        run.shim ? "on" : "off", code(device_words(run)),
        run.torch.empty() ? "none" : code(run.torch));
}

Section mismatches(const ReportModel& model) {
    Section section{"Accounting does not close", "mismatches"};
    section.intro = "These figures do not agree; the totals below cannot be relied upon.\n\n";
    for (const MismatchView& m : model.accounting.mismatches)
        section.items.push_back(
            {fmt::format("- {}{}\n", m.module.empty() ? std::string{} : code(m.module) + ": ",
                         code(m.message))});
    return section;
}

Section totals_section(const ReportModel& model) {
    const Totals& totals = model.totals;
    Section section{"Totals", {}};
    std::string head = row("modules", "tests");
    std::string rule = "|---:|---:|";
    std::string counts = row(totals.modules, totals.collected);
    std::vector<std::string> summands;
    for (size_t i = 0; i < totals.states.size(); ++i) {
        head += fmt::format(" {} |", parsers::kStateNames[i]);
        rule += "---:|";
        counts += fmt::format(" {} |", totals.states[i]);
        if (totals.states[i] > 0)
            summands.push_back(fmt::format("{} {}", totals.states[i], parsers::kStateNames[i]));
    }
    section.intro = fmt::format(
        "{}\n{}\n{}\n\nAccounting: {} collected = {}: {}.\n", head, rule, counts, totals.collected,
        summands.empty() ? "0" : fmt::format("{}", fmt::join(summands, " + ")),
        model.accounting.closed
            ? std::string("closed")
            : fmt::format("**not closed, {} mismatches**", model.accounting.mismatches.size()));
    if (totals.flaky > 0)
        section.intro += fmt::format("\n{} flaky: passed only in a later attempt.\n", totals.flaky);
    section.intro += fmt::format("\nSource links: {}, of which {} do not resolve.\n",
                                 model.links_total, model.links_unresolved);
    return section;
}

Section how_it_passed(const ReportModel& model) {
    const Totals& totals = model.totals;
    Section section{"How it passed", {}};
    if (!model.run.shim) {
        section.intro = "The shim was off: nobody looked at which devices the tests used.\n";
        return section;
    }
    section.intro = fmt::format(
        "Of {} tests that passed or failed, {} exercised a device (target: {}).\n\n"
        "| mark | tests | meaning |\n|---|---:|---|\n"
        "| device | {} | created or moved a tensor on the target accelerator |\n"
        "| fallback | {} | some operation went to the CPU |\n"
        "| redirected | {} | asked for another device than it got |\n"
        "| untouched | {} | none of these: the result says nothing about the device |\n",
        totals.count(State::passed) + totals.count(State::failed), totals.device,
        code(device_words(model.run)), totals.device, totals.fallback, totals.redirected,
        totals.untouched);
    return section;
}

std::string frames(const FailureView& failure) {
    std::string list;
    for (const FrameView& frame : failure.frames)
        if (frame.in_suite)
            list +=
                fmt::format("- {}{}\n", linked_code(place(frame.file, frame.line), frame.url),
                            frame.function.empty() ? std::string{} : " in " + code(frame.function));
    return list.empty() ? list : "\nFrames of the suite:\n\n" + list;
}

std::string commands(const std::optional<Reproduce>& reproduce) {
    if (!reproduce) return {};
    return "\nTo reproduce:\n\n" + fenced("sh", reproduce->runner + "\n" + reproduce->plain);
}

std::string failure_details(const FailureView& failure) {
    std::string text;
    const std::string& trace = failure.traceback.empty() ? failure.message : failure.traceback;
    if (!trace.empty()) text += fenced("text", trace, kTracebackBytes);
    text += frames(failure);
    for (const FailureView& also : failure.also)
        text += fmt::format("\nAlso: {}\n\n{}", code(also.key_line), failure_details(also));
    return text;
}

std::string folded(std::string_view summary, std::string_view body) {
    while (body.starts_with('\n')) body.remove_prefix(1);
    return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", summary, body);
}

// A failing test: what went wrong stays when space is short; how, goes first.
Item failing_test(const CaseView& test) {
    Item item;
    item.text = fmt::format("### {}: {}\n\n", name_of(test.state), linked_code(test.id, test.url));
    if (test.failure && !test.failure->key_line.empty())
        item.text += code(test.failure->key_line) + "\n\n";
    if (!test.reason.empty()) item.text += code(test.reason) + "\n\n";

    std::string body;
    if (test.failure) body += failure_details(*test.failure);
    if (!test.log_url.empty())
        body += fmt::format("\nLog: {}\n", linked_code(test.log, test.log_url));
    for (const AttemptView& attempt : test.attempts)
        body += fmt::format("\nAttempt {} ({}{}): {} {}\n", attempt.number, name_of(attempt.kind),
                            attempt.forked ? ", forked" : "", name_of(attempt.state),
                            code(attempt.key_line));
    body += commands(test.reproduce);
    item.detail = folded("Traceback and how to reproduce", body);
    return item;
}

Section failing_tests(const ReportModel& model) {
    Section section{"Tests that need attention", "tests that need attention",
                    "tracebacks and commands of tests that need attention"};
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (needs_attention(test.state)) section.items.push_back(failing_test(test));
    });
    return section;
}

Section failing_subtests(const ReportModel& model) {
    Section section{"Sub-tests that failed", "failed sub-tests", "tracebacks of failed sub-tests"};
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        for (const SubtestView& sub : test.subtests) {
            if (!needs_attention(sub.state)) continue;
            Item item;
            item.text =
                fmt::format("- {} {}{}\n", name_of(sub.state), linked_code(sub.id, test.url),
                            sub.failure ? ": " + code(sub.failure->key_line) : "");
            if (sub.failure)
                item.detail = "\n" + folded("Traceback", failure_details(*sub.failure));
            section.items.push_back(std::move(item));
        }
    });
    return section;
}

Section unexpected_passes(const ReportModel& model) {
    Section section{"Unexpected passes", "unexpected passes"};
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (test.state == State::xpassed)
            section.items.push_back(
                {fmt::format("- {} {}\n", linked_code(test.id, test.url), code(test.reason))});
    });
    return section;
}

// Tests whose verdict depends on the process that they ran in.
Section unstable_tests(const ReportModel& model, std::string title, std::string what,
                       bool CaseView::*unstable) {
    Section section{std::move(title), std::move(what)};
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (!(test.*unstable)) return;
        std::string states;
        for (const AttemptView& attempt : test.attempts)
            states += fmt::format("{}{}", states.empty() ? "" : ", then ", name_of(attempt.state));
        section.items.push_back(
            {fmt::format("- {}: {}\n", linked_code(test.id, test.url), states)});
    });
    return section;
}

// Modules that did not end as one should; those that never ran are among them.
Section troubled_modules(const ReportModel& model) {
    Section section{"Modules that did not complete", "modules that did not complete"};
    for (const ModuleView& module : model.modules) {
        if (module.outcome == ModuleOutcome::completed) continue;
        std::string text = fmt::format("- **{}**: {}", name_of(module.outcome),
                                       linked_code(module.path, module.url));
        if (!module.reason.empty()) text += ": " + code(module.reason);
        if (!module.process_end.empty() && module.process_end != module.reason)
            text += fmt::format(" ({})", code(module.process_end));
        if (module.attempts == 0)
            text += module.last_known_cases ? fmt::format("; when it last ran it had {} tests",
                                                          *module.last_known_cases)
                                            : std::string("; how many tests it has is not known");
        if (!module.log_url.empty()) text += ", " + linked_code("log", module.log_url);
        section.items.push_back({text + "\n"});
    }
    return section;
}

Section tests_not_run(const ReportModel& model) {
    Section section{"Tests not run", "reasons why tests did not run"};
    std::map<std::string, std::int64_t> reasons;
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (test.state == State::not_run) ++reasons[test.reason];
    });
    section.intro = "| tests | reason |\n|---:|---|\n";
    for (const auto& [reason, count] : reasons)
        section.items.push_back({row(count, code(reason)) + "\n"});
    return section;
}

Section skips(const ReportModel& model) {
    struct Group {
        std::int64_t count = 0;
        const CaseView* example = nullptr;
    };
    std::map<std::string, Group> groups;
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (test.state != State::skipped) return;
        Group& group = groups[test.reason];
        if (group.count++ == 0) group.example = &test;
    });
    std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    Section section{"Skips by reason", "reasons of skips"};
    section.intro = "| tests | reason | for example |\n|---:|---|---|\n";
    for (const auto& [reason, group] : sorted)
        section.items.push_back(
            {row(group.count, reason.empty() ? "(none given)" : code(reason, 200),
                 linked_code(group.example->id, group.example->url)) +
             "\n"});
    return section;
}

Section modules_by_folder(const ReportModel& model) {
    std::map<std::string, std::vector<const ModuleView*>> folders;
    for (const ModuleView& module : model.modules) {
        const size_t slash = module.path.rfind('/');
        folders[slash == std::string::npos ? "." : module.path.substr(0, slash)].push_back(&module);
    }
    Section section{"Modules by folder", "modules"};
    for (const auto& [folder, modules] : folders) {
        StateCounts sum{};
        for (const ModuleView* module : modules)
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += module->states[i];
        // A folder's head goes with its first module.
        std::string head = fmt::format(
            "{}### {}: {}, {}\n\n| module | outcome | tests | states | time |\n"
            "|---|---|---:|---|---:|\n",
            section.items.empty() ? "" : "\n", code(folder), counted(modules.size(), "module"),
            in_words(sum));
        for (const ModuleView* module : modules) {
            section.items.push_back(
                {head +
                 row(linked_code(module->path, module->url), name_of(module->outcome),
                     module->cases.size(), in_words(module->states), seconds(module->duration_s)) +
                 "\n"});
            head.clear();
        }
    }
    return section;
}

Section redirections(const ReportModel& model) {
    Section section{"Redirections", "sites of redirection"};
    section.intro =
        "| times | tests | kind | operation | asked | given | where |\n"
        "|---:|---:|---|---|---|---|---|\n";
    for (const RedirectionView& r : model.redirections)
        section.items.push_back({row(r.count, r.tests, code(r.kind), code(r.op), code(r.from),
                                     code(r.to), linked_code(place(r.file, r.line), r.url)) +
                                 "\n"});
    return section;
}

Section slowest(const ReportModel& model) {
    std::vector<const CaseView*> tests;
    for_each_case(model, [&](const ModuleView&, const CaseView& test) {
        if (test.duration_s >= kSlow) tests.push_back(&test);
    });
    const auto end = tests.begin() + static_cast<std::ptrdiff_t>(std::min(kSlowest, tests.size()));
    std::partial_sort(tests.begin(), end, tests.end(), [](const CaseView* a, const CaseView* b) {
        return a->duration_s != b->duration_s ? a->duration_s > b->duration_s : a->id < b->id;
    });
    Section section{"Slowest tests", "slowest tests"};
    section.intro = "| time | test |\n|---:|---|\n";
    for (auto test = tests.begin(); test != end; ++test)
        section.items.push_back(
            {row(seconds((*test)->duration_s), linked_code((*test)->id, (*test)->url)) + "\n"});
    return section;
}

Section leaked(const ReportModel& model) {
    Section section{"Leaked processes", "leaked processes"};
    for (const LeakedView& p : model.leaked_processes)
        section.items.push_back(
            {fmt::format("- {}: process {}, {}{}\n", code(p.module), p.pid, code(p.command),
                         p.killed ? "" : " (it could not be killed)")});
    return section;
}

Section findings(const ReportModel& model) {
    Section section{"Odd things in the files of this run", "odd things"};
    for (const ModuleView& module : model.modules) {
        if (module.dropped_log_bytes > 0)
            section.items.push_back(
                {fmt::format("- {}: {} bytes from the middle of its log were dropped\n",
                             code(module.path), module.dropped_log_bytes)});
        for (const std::string& diagnostic : module.diagnostics)
            section.items.push_back(
                {fmt::format("- {}: {}\n", code(module.path), code(diagnostic))});
    }
    return section;
}

Section environment(const ReportModel& model) {
    const RunView& run = model.run;
    Section section{"Environment", "lines of the environment"};
    section.intro = "| | |\n|---|---|\n";
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) section.items.push_back({row(name, code(value)) + "\n"});
    };
    add("suite", run.suite);
    add("commit", run.commit + (run.dirty && !run.commit.empty() ? " (changed since)" : ""));
    add("root", run.root);
    add("series", run.series);
    add("framework", run.framework);
    add("torch", run.torch);
    add("shim", run.shim ? "on" : "off");
    add("policy", run.policy);
    if (run.masquerade) add("masquerade", "on");
    add("device", run.device);
    add("simulated", run.simulated.value_or(""));
    add("fallback", run.fallback ? "on" : "off");
    add("command", run.command);
    // A list too long for a table (installed packages) is folded away below it.
    std::vector<Item> below;
    const auto fingerprint = nlohmann::ordered_json::parse(run.fingerprint);
    for (const auto& [key, value] : fingerprint.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : dumped(value, -1);
        if (text.size() <= kLongestCell)
            add(code(key), text);
        else
            below.push_back({"\n" + folded(html(key), fenced("json", dumped(value, 1)))});
    }
    std::move(below.begin(), below.end(), std::back_inserter(section.items));
    return section;
}

}  // namespace

std::string to_markdown(const ReportModel& model, std::optional<size_t> max_bytes) {
    // In the order of the page. The number says how useful a section's items are, and after it
    // their details: where space is short, the lowest goes first.
    Document document;
    document.head = headline(model);
    document.add(mismatches(model), {.items = 100});
    document.add(totals_section(model), {});
    document.add(failing_tests(model), {.items = 90, .details = 50});
    document.add(failing_subtests(model), {.items = 80, .details = 45});
    document.add(troubled_modules(model), {.items = 85});
    document.add(tests_not_run(model), {.items = 70});
    document.add(unstable_tests(model, "Flaky tests", "flaky tests", &CaseView::flaky),
                 {.items = 75});
    document.add(unstable_tests(model, "Tests that broke only in a forked process",
                                "fork-sensitive tests", &CaseView::fork_sensitive),
                 {.items = 74});
    document.add(unexpected_passes(model), {.items = 72});
    document.add(how_it_passed(model), {});
    document.add(skips(model), {.items = 40});
    document.add(modules_by_folder(model), {.items = 35});
    document.add(redirections(model), {.items = 30});
    document.add(slowest(model), {.items = 10});
    document.add(leaked(model), {.items = 60});
    document.add(findings(model), {.items = 20});
    document.add(environment(model), {.items = 65});
    return document.fitted(max_bytes);
}

}  // namespace compat::reports
