// `runner expect update | check`: a stored run beside expectations.json.
#include <fmt/format.h>

#include "reports/expectations.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/shards.h"
#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/output.h"
#include "runner/run/expectations/update_expectations.h"
#include "suites/expectations.h"

namespace compat::cli {

using analysis::ExpectationChange;

namespace {

struct ExpectRequest {
    std::string run = "latest";
    bool dry_run = false;
};

// A stored run with today's file, and the store that has it.
struct OpenedRun {
    Results results;
    run::RunAndExpectations read;
    std::string python;  // for the diff
};

Expected<OpenedRun> open_run_to_expect(const ExpectRequest& request,
                                       const config::Invocation& invocation) {
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    auto results = TRY(open_existing(invocation));
    const auto id = TRY(archive::find_run(results.store, results.folder, request.run));
    const std::string& named = settings.text(Setting::expectations);
    auto read = TRY(run::read_run_and_expectations(
        results.store, id, named == config::kNoFile ? std::string() : named));
    return OpenedRun{std::move(results), std::move(read), settings.text(Setting::base_python)};
}

void print_change(const ExpectationChange& change) {
    const std::string text = printable(suites::text_of(change.value));
    switch (change.kind) {
        case ExpectationChange::Kind::add:
            print("+ {}\n", text);
            break;
        case ExpectationChange::Kind::set_states:
            print("~ {}\n", text);
            break;
        case ExpectationChange::Kind::remove:
            print("- {}\n", text);
            break;
    }
}

Expected<ExitCode> update(const ExpectRequest& request, const config::Invocation& invocation) {
    const auto opened = TRY(open_run_to_expect(request, invocation));
    const run::RunAndExpectations& read = opened.read;
    const auto planned = TRY(run::plan_update(opened.results.store, read));
    const auto& changes = planned.update.changes;
    if (!request.dry_run) {
        for (const auto& change : changes) print_change(change);
        if (!changes.empty())
            if (auto written = write_file(read.file, planned.text); !written) {
                Error error = written.error();
                error.advice = "write to another file with --expectations FILE";
                return tl::unexpected(std::move(error));
            }
    } else if (!changes.empty()) {
        const auto diff =
            TRY(run::unified_diff(read.text, planned.text, read.file.string(), opened.python));
        print("{}", diff);
    }
    for (const auto& left : planned.update.left)
        print(stderr, "note: {}: {}\n", printable(left.test), printable(left.why));
    print(stderr, "{}: {}{}\n", printable(read.file.string()),
          changes.empty() ? "nothing to change"
                          : counted(static_cast<long>(changes.size()), "change"),
          request.dry_run && !changes.empty() ? "; dry run, nothing was written" : "");
    return ExitCode::ok;
}

Expected<ExitCode> check_run(const ExpectRequest& request, const config::Invocation& invocation) {
    const auto opened = TRY(open_run_to_expect(request, invocation));
    reports::ExpectationsOfRun judging(opened.read.expectations, opened.read.file.string());
    bool unexpected = false;
    const auto seen = run::each_verdict_record(
        opened.results.store, opened.read.run, [&](const parsers::ModuleRecord& record) {
            judging.add(record);
            analysis::RunFacts facts;
            analysis::add(facts, record, opened.read.expectations);
            unexpected = unexpected || facts.unexpected;
            for (const auto& test : record.cases) {
                const auto judged = opened.read.expectations.judge(test, record.framework);
                if (judged.fit == analysis::Fit::as_expected) continue;
                const auto view = judging.view_of(test, record.framework);
                print("{}: {}\n", printable(test.id),
                      view ? printable(reports::describe_expectation(test.state, *view))
                           : fmt::format("{}; no entry expects it", name_of(test.state)));
            }
        });
    if (!seen) return tl::unexpected(seen.error());
    const reports::ExpectationsView view = judging.finish();
    for (const auto& note : view.notes)
        print("entry {}: {}\n", printable(note.test), reports::describe_note(note));
    print("{}: {}\n", opened.read.run, reports::describe_expectations(view));
    return unexpected ? ExitCode::unexpected_results : ExitCode::ok;
}

Action add_expect(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ExpectRequest>();
    app.require_subcommand(1);
    using Function = Expected<ExitCode> (*)(const ExpectRequest&, const config::Invocation&);
    auto chosen = std::make_shared<Function>(nullptr);
    const auto action = [&](const char* name, const char* help, Function function) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->group("Commands");
        sub->callback([chosen, function] { *chosen = function; });
        sub->add_option("RUN", request->run, kRunHelp)->capture_default_str();
        add_settings(*sub, {Setting::results, Setting::expectations}, invocation.flags);
        return sub;
    };
    auto* update_app =
        action("update", "change expectations.json so that a run's results are expected", update);
    update_app->add_flag("--dry-run", request->dry_run, "print a diff and write nothing");
    update_app->footer(
        "New entries are for the device of the run alone. Entries for other devices stay.\n"
        "Lines: + added, ~ changed, - removed.");
    action("check", "compare a stored run with the file as it is now", check_run);
    return exits_with_code(
        [request, chosen, &invocation] { return (*chosen)(*request, invocation); });
}

}  // namespace

Command expect_command() { return {"update or check expectations.json", {}, {}, add_expect}; }

}  // namespace compat::cli
