// Commands that read what is stored: report, runs, show.
#include <fmt/format.h>

#include <algorithm>

#include "reports/model.h"
#include "runner/app/commands.h"
#include "runner/app/conduct.h"
#include "runner/app/display.h"
#include "runner/app/output.h"
#include "runner/app/reporting.h"
#include "runner/app/run_folder.h"
#include "runner/app/summary.h"
#include "runner/store/store.h"

namespace compat::app {

namespace fs = std::filesystem;

namespace {

struct Results {
    fs::path folder;
    store::Store store;
};

Expected<Results> open_existing(const Invocation& invocation) {
    return existing_results(invocation).and_then([](const fs::path& folder) {
        return store::Store::open(folder / "runner.db", store::Store::Mode::read_only)
            .map([&](store::Store&& store) {
                return Results{folder, std::move(store)};
            });
    });
}

std::string words_of(const store::StateCounts& states) {
    std::array<long, parsers::kStateNames.size()> counts{};
    std::copy(states.begin(), states.end(), counts.begin());
    return count_words(counts);
}

Expected<ExitCode> show_run(const Results& results, const std::string& id) {
    const auto run = results.store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results.folder / run->info.folder;
    reports::ModelBuilder model(*run, {folder, folder});
    print("{}  started {}{}\n", id, iso8601(run->info.started),
          model.run().complete ? "" : "  (not complete)");
    const auto seen =
        results.store.each_module(id, [&](const store::StoredModule& module) -> Expected<void> {
            for (const auto& test : model.add(module).cases) {
                const bool quiet = test.state == parsers::State::passed ||
                                   test.state == parsers::State::skipped ||
                                   test.state == parsers::State::xfailed;
                if (quiet) continue;
                const auto* const failure = reports::failure_of(test);
                const std::string& why = failure ? failure->key_line : test.reason;
                print("    {} {}{}\n", parsers::name_of(test.state), printable(test.id),
                      why.empty() ? "" : ": " + printable(why));
            }
            return {};
        });
    return seen.map([&] {
        const reports::ReportModel whole = model.finish();
        for (const auto& [cause, tests] : reports::causes_by_tests(whole))
            print("{} of {}: {}\n", counted(tests, "test"), cause, reports::cause_means(cause));
        print_closing(whole, folder / "report.md");
        return ExitCode::ok;
    });
}

Expected<ExitCode> show_test(const Results& results, const std::string& test) {
    const auto history = results.store.case_history(test);
    if (!history) return tl::unexpected(history.error());
    if (history->empty())
        return fail(ErrorKind::usage, fmt::format("no stored run has the test {}", test),
                    "`runner show RUN` prints the ids of a run that need attention");
    print("{}\n", printable(test));
    for (const auto& entry : *history) {
        const std::string& why = entry.key_line.empty() ? entry.reason : entry.key_line;
        print("    {}  {}  {}  {}{}\n", iso8601(entry.started), entry.run,
              parsers::name_of(entry.state), human(std::chrono::duration<double>(entry.duration_s)),
              why.empty() ? "" : "  " + printable(why));
    }
    const auto& last = history->front();
    print("log: {}\n", (results.folder / "runs" / last.run / last.log).string());
    return ExitCode::ok;
}

}  // namespace

Expected<ExitCode> render_report(const ReportCommand& command, const Invocation& invocation) {
    const auto formats = reports::formats_of(command.formats);
    if (!formats) return tl::unexpected(formats.error());
    const auto results = open_existing(invocation);
    if (!results) return tl::unexpected(results.error());
    return results->store.find_run(command.run)
        .and_then([&](const std::string& id) {
            const fs::path out = command.out.empty() ? fs::path{} : fs::absolute(command.out);
            return write_reports(results->store, results->folder, id,
                                 {out, *formats, {command.max_bytes}});
        })
        .map([](const Reported& reported) {
            for (const auto& file : reported.files) print("{}\n", file.path.string());
            return ExitCode::ok;
        });
}

Expected<ExitCode> list_runs(const Invocation& invocation) {
    const auto results = open_existing(invocation);
    if (!results) return tl::unexpected(results.error());
    return results->store.runs().map([&](const std::vector<store::RunSummary>& runs) {
        for (const auto& run : runs) {
            const bool complete = run.end && run.end->complete;
            const std::string end =
                complete ? human(std::chrono::duration<double>(run.end->duration_s))
                : RunLock::is_held(results->folder / run.folder) ? "running"
                                                                 : "interrupted";
            print("{}  {}  {}  {} modules  {}\n", run.id, iso8601(run.started), end, run.modules,
                  words_of(run.states));
        }
        return ExitCode::ok;
    });
}

Expected<ExitCode> show(const ShowCommand& command, const Invocation& invocation) {
    const auto results = open_existing(invocation);
    if (!results) return tl::unexpected(results.error());
    if (command.what.find("::") != std::string::npos) return show_test(*results, command.what);
    return results->store.find_run(command.what).and_then([&](const std::string& id) {
        return show_run(*results, id);
    });
}

}  // namespace compat::app
