// `runner show`: prints a stored run's results, or one test's history.
#include <fmt/format.h>

#include "reports/model.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/shards.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/closing_summary.h"
#include "runner/display/device_lines.h"
#include "runner/display/output.h"
#include "runner/run/reporting.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

// What other ways of running a failed test show.
void print_ways(const reports::CaseView& test, std::string_view indent) {
    if (test.diagnosis) print("{}diagnosis: {}\n", indent, printable(test.diagnosis->words));
    if (const auto& shown = test.attribution)
        print("{}attribution: {}: {}{}{}\n", indent, shown->cause, shown->words,
              shown->as.empty() ? "" : fmt::format(" (as {})", printable(shown->as)),
              shown->run.empty() ? "" : fmt::format(" (run {})", shown->run));
}

// The test as the run's reports show it; empty: the run has no such test.
Expected<std::optional<reports::CaseView>> view_of(const Results& results, const std::string& id,
                                                   const std::string& test) {
    const auto run = results.store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    auto others = reports::other_runs_of(results.store, id);
    if (!others) return tl::unexpected(others.error());
    std::optional<reports::CaseView> found;
    const fs::path folder = results.folder / run->info.folder;
    reports::ModelBuilder model(*run, {folder, folder, std::move(*others)});
    const auto seen =
        results.store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
            const bool here = test.starts_with(module.path + "::");
            model.add(module);
            if (!here) return {};
            for (auto& view : model.view(std::move(module)).cases)
                if (view.id == test) found = std::move(view);
            return {};
        });
    if (!seen) return tl::unexpected(seen.error());
    return found;
}

Expected<ExitCode> show_test_of_run(const Results& results, const std::string& id,
                                    const std::string& test) {
    const auto view = view_of(results, id, test);
    if (!view) return tl::unexpected(view.error());
    if (!*view)
        return fail(ErrorKind::usage, fmt::format("{} has no test {}", id, test),
                    "`runner show RUN` prints what did not pass");
    const reports::CaseView& found = **view;
    const auto* const failure = reports::failure_of(found);
    const std::string& why = failure ? failure->key_line : found.reason;
    print("{}\n    {}{}\n", printable(found.id), parsers::name_of(found.state),
          why.empty() ? "" : ": " + printable(why));
    if (failure && !failure->cause.empty())
        print("    cause: {}: {}\n", failure->cause, reports::cause_means(failure->cause));
    print_ways(found, "    ");
    if (found.diagnosis)
        for (const auto& attempt : found.diagnosis->attempts)
            print("        {}: {}{}  {}\n", attempt.step, parsers::name_of(attempt.state),
                  attempt.key_line.empty() ? "" : ": " + printable(attempt.key_line), attempt.log);
    if (!found.log.empty())
        print("    log: {}\n", (results.folder / "runs" / id / found.log).string());
    return ExitCode::ok;
}

Expected<ExitCode> show_run(const Results& results, const std::string& id) {
    const auto run = results.store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results.folder / run->info.folder;
    auto others = reports::other_runs_of(results.store, id);
    if (!others) return tl::unexpected(others.error());
    reports::ModelBuilder model(*run, {folder, folder, std::move(*others)});
    const bool running = !model.run().complete && archive::RunLock::is_held(folder);
    print("{}  started {}{}\n", id, iso8601(run->info.started),
          model.run().complete ? ""
          : running            ? "  (running)"
                               : "  (not complete)");
    const store::RunInfo& info = run->info;
    print("{}\n", display::redirection_words({info.device, info.simulated, info.shim, info.policy,
                                              info.fallback, model.run().imported}));
    const auto seen =
        results.store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
            model.add(module);
            const reports::ModuleView view = model.view(std::move(module));
            if (view.attempts == 0 && !running)
                print("    {} {}{}\n", parsers::name_of(view.outcome), printable(view.path),
                      view.reason.empty() ? "" : ": " + printable(view.reason));
            for (const auto& test : view.cases) {
                const bool quiet = test.state == parsers::State::passed ||
                                   test.state == parsers::State::skipped ||
                                   test.state == parsers::State::xfailed;
                if (quiet) continue;
                const auto* const failure = reports::failure_of(test);
                const std::string& why = failure ? failure->key_line : test.reason;
                print("    {} {}{}\n", parsers::name_of(test.state), printable(test.id),
                      why.empty() ? "" : ": " + printable(why));
                print_ways(test, "        ");
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

Expected<ExitCode> show_test(const Results& results, const std::string& test) {
    const auto history = results.store.case_history(test);
    if (!history) return tl::unexpected(history.error());
    if (history->empty())
        return fail(ErrorKind::usage, fmt::format("no stored run has a test {}", test),
                    "list a run's tests with `runner show RUN`");
    print("{}\n", printable(test));
    for (const auto& entry : *history) {
        const std::string& why = entry.key_line.empty() ? entry.reason : entry.key_line;
        print("    {}  {}  {}  {}{}\n", iso8601(entry.started), entry.run,
              parsers::name_of(entry.state),
              format_duration(std::chrono::duration<double>(entry.duration_s)),
              why.empty() ? "" : "  " + printable(why));
    }
    const auto& last = history->front();
    print("log: {}\n", (results.folder / "runs" / last.run / last.log).string());
    return ExitCode::ok;
}

Expected<ExitCode> show(const std::string& what, const std::string& test,
                        const config::Invocation& invocation) {
    const auto results = open_existing(invocation);
    if (!results) return tl::unexpected(results.error());
    if (!test.empty())
        return archive::find_run(results->store, results->folder, what)
            .and_then([&](const std::string& id) { return show_test_of_run(*results, id, test); });
    if (what.find("::") != std::string::npos) return show_test(*results, what);
    return archive::find_run(results->store, results->folder, what)
        .and_then([&](const std::string& id) { return show_run(*results, id); });
}

Action add_show(CLI::App& app, config::Invocation& invocation) {
    auto what = std::make_shared<std::string>();
    app.add_option("RUN|TEST", *what, "run (id, prefix, latest, …) or test (path::Class::test)")
        ->required();
    auto test = std::make_shared<std::string>();
    app.add_option("TEST", *test, "a test of RUN");
    return exits_with_code([what, test, &invocation] { return show(*what, *test, invocation); });
}

}  // namespace

Command show_command() {
    return {"show a run's results or a test's history",
            {Setting::results},
            "Examples:\n  runner show latest\n  runner show "
            "'einops/tests/test_ops.py::test_rearrange_errors'\n  runner show latest "
            "'einops/tests/test_ops.py::test_rearrange_errors'",
            add_show};
}

}  // namespace compat::cli
