// `runner show`: prints a stored run's results, or one test's history.

#include <fmt/format.h>

#include <algorithm>

#include "reports/model.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/shards.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/cli/results/show_test.h"
#include "runner/display/closing_summary.h"
#include "runner/display/device_lines.h"
#include "runner/display/output.h"
#include "runner/display/terminal.h"
#include "runner/run/reporting/reporting.h"

namespace compat::cli {

namespace {

Expected<ExitCode> show_run(const Results& results, const std::string& id) {
    const auto run = results.store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results.folder / run->info.folder;
    auto others = TRY(reports::other_runs_of(results.store, id));
    reports::ModelBuilder model(*run, {folder, folder, std::move(others)});
    const bool running = !model.run().complete && archive::RunLock::is_held(folder);
    print("{}  started {}{}\n", id, iso8601(run->info.started),
          model.run().complete ? ""
          : running            ? "  (running)"
                               : "  (not complete)");
    const store::RunInfo& info = run->info;
    print("{}\n", display::describe_way(info));
    const auto seen =
        results.store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
            model.add(module);
            const reports::ModuleView view = model.view(std::move(module));
            if (view.attempts == 0 && !running)
                print("    {} {}{}\n", parsers::name_of(view.outcome), printable(view.path),
                      view.reason.empty() ? "" : ": " + printable(view.reason));
            for (const auto& test : view.cases) {
                const bool quiet = !reports::passes_unexpectedly(test.expectation) && !test.flaky &&
                                   (test.state == parsers::State::passed ||
                                    test.state == parsers::State::skipped ||
                                    test.state == parsers::State::xfailed);
                if (quiet) continue;
                const auto* const failure = reports::failure_of(test);
                const std::string& why = failure ? failure->key_line : test.reason;
                print("    {} {}{}\n", test.flaky ? "flaky" : parsers::name_of(test.state),
                      printable(test.id), why.empty() ? "" : ": " + printable(why));
                if (test.flaky) print_attempts(test, "        ");
                print_ways(test, "        ");
                print_expectation(test, "        ");
            }
            return {};
        });
    return seen.map([&] {
        const reports::ReportModel whole = model.finish();
        for (const auto& [cause, tests] : reports::causes_by_tests(whole))
            print("{} of {}: {}\n", counted(tests, "test"), cause, reports::cause_means(cause));
        display::print_closing(whole, run::report_to_open(folder));
        if (!whole.run.complete && !whole.run.imported && !running)
            display::print_resume_hint(id, results.folder);
        return ExitCode::ok;
    });
}

Expected<ExitCode> show_test_as_issue(const Results& results, const std::string& what,
                                      const std::string& test) {
    const std::string run =
        test.empty() ? "" : TRY(archive::find_run(results.store, results.folder, what));
    const std::string& part = test.empty() ? what : test;
    if (!TRY(results.store.case_history(part)).empty()) return show_issue(results, run, part);
    const Error unknown{ErrorKind::usage,
                        fmt::format("no stored test is named {}", part),
                        "name one: `runner show RUN TEST --issue`",
                        {}};
    const auto only = TRY(only_test_with(results, part, run, unknown));
    return show_issue(results, run, only);
}

Expected<ExitCode> show(std::string what, const std::string& test, bool as_issue,
                        const config::Invocation& invocation) {
    const auto results = TRY(open_existing(invocation, what));
    if (as_issue) return show_test_as_issue(results, what, test);
    if (!test.empty())
        return archive::find_run(results.store, results.folder, what)
            .and_then([&](const std::string& id) { return show_test_of_run(results, id, test); });
    const auto show_history = [&](const std::string& id) {
        const std::string color = config::text_before_suite(invocation, Setting::color);
        return show_test_history(results, id, display::use_color(color));
    };
    if (what.find("::") != std::string::npos) return show_history(what);
    const auto run = archive::find_run(results.store, results.folder, what);
    if (run) return show_run(results, *run);
    const auto runs = TRY(results.store.runs());
    const bool begins_runs = std::any_of(
        runs.begin(), runs.end(), [&](const auto& each) { return each.id.starts_with(what); });
    if (run.error().kind != ErrorKind::usage || begins_runs) return tl::unexpected(run.error());
    return only_test_with(results, what, {}, run.error()).and_then(show_history);
}

Action add_show(CLI::App& app, config::Invocation& invocation) {
    auto what = std::make_shared<std::string>();
    app.add_option("RUN|TEST", *what,
                   "run (id, prefix, latest, …) or test (id, or a part that only it has)")
        ->required();
    auto test = std::make_shared<std::string>();
    app.add_option("TEST", *test, "a test of RUN, or a part of its id");
    auto as_issue = std::make_shared<bool>(false);
    app.add_flag("--issue", *as_issue,
                 "print a failing test as Markdown for an issue: of PyTorch if it did not break so "
                 "with an older torch, else of its project");
    return exits_with_code(
        [what, test, as_issue, &invocation] { return show(*what, *test, *as_issue, invocation); });
}

}  // namespace

Command show_command() {
    return {"show a run's results or a test's history",
            {Setting::results, Setting::color},
            "Examples:\n  runner show latest\n  runner show "
            "'einops/tests/test_ops.py::test_rearrange_errors'\n  runner show latest "
            "'einops/tests/test_ops.py::test_rearrange_errors'\n  runner show latest "
            "test_rearrange_errors --issue >issue.md",
            add_show};
}

}  // namespace compat::cli
