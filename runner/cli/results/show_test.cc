#include "runner/cli/results/show_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "reports/generated.h"
#include "reports/links.h"
#include "reports/torch_issue.h"
#include "runner/archive/log_excerpt.h"
#include "runner/archive/packed/run_archive.h"
#include "runner/base/line_reader.h"
#include "runner/base/names.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"
#include "runner/display/device_lines.h"
#include "runner/display/history_strip.h"
#include "runner/display/output.h"
#include "runner/display/terminal.h"

namespace compat::cli {

using display::print;

namespace {

constexpr std::size_t kSourceColumns = 160;

// Line `number` of a source file as it is today; empty: not there.
std::string source_line(const fs::path& file, int number) {
    constexpr int kLastLine = 1'000'000;
    std::string found;
    if (file.empty() || number <= 0 || number > kLastLine) return found;
    LineReader reader(FileBelow::followed(file), {kSourceColumns * 4, 1 << 20});
    int at = 0;
    const auto see = [&](const Line& line) {
        if (++at == number) found = line.text;
    };
    for (bool more = true; more && at < number;) {
        const auto read = reader.read(see);
        if (!read) return {};
        more = *read;
    }
    if (at < number) reader.finish(see);
    const auto begin = found.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : found.substr(begin);
}

std::string masked(std::string_view text, const std::vector<std::string>& secrets) {
    return printable(mask_secrets(text, secrets));
}

// Where it failed: the innermost frame in the suite, else the innermost one.
void print_place(const reports::FailureView& failure, const fs::path& root,
                 const std::vector<std::string>& secrets) {
    if (failure.frames.empty()) return;
    const auto own = std::find_if(failure.frames.rbegin(), failure.frames.rend(),
                                  [](const auto& frame) { return frame.in_suite; });
    const reports::FrameView& frame = own == failure.frames.rend() ? failure.frames.back() : *own;
    print("    at {}:{}{}\n", printable(frame.file), frame.line,
          frame.function.empty() ? "" : " in " + printable(frame.function));
    const std::string source =
        root.empty() ? "" : source_line(reports::source_of_frame(root, frame.file), frame.line);
    if (!source.empty())
        print("        {}\n", display::cut_to(masked(source, secrets), kSourceColumns));
}

void print_excerpt(const TestInRun& test, const std::vector<std::string>& secrets) {
    const std::string& log = test.view->log;
    if (log.empty()) return;
    const auto excerpt = archive::log_excerpt(test.folder, log, test.view->id, {40, secrets});
    print("    log: {}{}\n", printable((test.folder / log).string()),
          excerpt && excerpt->first_line > 1 ? fmt::format(":{}", excerpt->first_line) : "");
    if (!excerpt)
        print("        {}\n", printable(excerpt.error().message));
    else if (!excerpt->about_test && !excerpt->lines.empty())
        print("        no line names the test; the log ends:\n");
    if (!excerpt) return;
    for (const std::string& line : excerpt->lines)
        print("{}\n", line.empty() ? "" : "        " + line);
}

// The result and, of a failure, all that helps to understand it.
void print_result(const TestInRun& test) {
    const reports::CaseView& view = *test.view;
    const auto secrets = own_secret_values();
    const auto* const failure = reports::failure_of(view);
    const std::string& why = failure ? failure->key_line : view.reason;
    print("    {}{}\n", parsers::name_of(view.state), why.empty() ? "" : ": " + printable(why));
    if (failure && !failure->cause.empty())
        print("    cause: {}: {}\n", failure->cause,
              failure->needs.empty() ? std::string(reports::cause_means(failure->cause))
                                     : printable(failure->needs));
    if (view.generated.any())
        print("    generated: {}\n", printable(reports::describe_names(view.generated)));
    if (view.missing.any())
        print("    missing: {}\n", printable(reports::describe_lack(view.missing)));
    print_attempts(view, "    ");
    print_ways(view, "    ");
    print_expectation(view, "    ");
    if (view.diagnosis)
        for (const auto& attempt : view.diagnosis->attempts)
            print("        {}: {}{}  {}\n", attempt.step, parsers::name_of(attempt.state),
                  attempt.key_line.empty() ? "" : ": " + printable(attempt.key_line), attempt.log);
    if (failure) print_place(*failure, test.root, secrets);
    print_excerpt(test, secrets);
    if (view.reproduce) print("    run it again: {}\n", printable(view.reproduce->runner));
}

using Runs = std::map<std::string, store::RunSummary>;

// A row for each series and way, in the order of their newest run.
std::vector<display::StripRow> strips_of(const std::vector<store::HistoryEntry>& history,
                                         const Runs& runs) {
    std::vector<display::StripRow> rows;
    for (const auto& entry : history) {
        const auto run = runs.find(entry.run);
        if (run == runs.end()) continue;  // it was stored after the history was read
        store::RunSummary its = run->second;
        its.subset.clear();  // a test is the same whatever ran beside it
        const std::string name = fmt::format("{}: {}", its.series, display::describe_way(its));
        auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const auto& known) { return known.name == name; });
        if (row == rows.end()) row = rows.insert(rows.end(), {name, {}});
        row->states.push_back(entry.state);
    }
    for (auto& row : rows) std::reverse(row.states.begin(), row.states.end());
    return rows;
}

}  // namespace

Expected<TestInRun> read_test(const Results& results, const std::string& id,
                              const std::string& test, const std::string& module, bool portable) {
    auto run = TRY(results.store.load_run(id));
    auto others = TRY(reports::other_runs_of(results.store, id));
    const bool is_here = !archive::is_unpacked(results.folder);
    TestInRun found{
        {}, {}, results.folder / run.info.folder, is_here ? fs::path(run.info.root) : fs::path()};
    if (portable) run.info = reports::portable_info(std::move(run.info));
    reports::ModelBuilder model(run, {found.folder, found.folder, std::move(others)});
    found.run = model.run();
    const auto see = [&](store::StoredModule read) -> Expected<void> {
        const bool here = test.starts_with(read.path + "::");
        model.add(read);
        if (!here) return {};
        for (auto& view : model.view(std::move(read)).cases)
            if (view.id == test) found.view = std::move(view);
        return {};
    };
    return results.store.each_module(id, see, module).map([&] { return std::move(found); });
}

void print_expectation(const reports::CaseView& test, std::string_view indent) {
    if (test.expectation)
        print("{}expectation: {}\n", indent,
              printable(reports::describe_expectation(test.state, *test.expectation)));
}

void print_attempts(const reports::CaseView& test, std::string_view indent) {
    for (const reports::AttemptView& attempt : test.attempts)
        print("{}attempt {}: {}{}\n", indent, attempt.number, parsers::name_of(attempt.state),
              attempt.key_line.empty() ? "" : ": " + printable(attempt.key_line));
}

void print_ways(const reports::CaseView& test, std::string_view indent) {
    if (test.diagnosis) print("{}diagnosis: {}\n", indent, printable(test.diagnosis->words));
    if (const auto& shown = test.attribution)
        print("{}attribution: {}: {}{}{}\n", indent, shown->cause, shown->words,
              shown->as.empty() ? "" : fmt::format(" (as {})", printable(shown->as)),
              shown->run.empty() ? "" : fmt::format(" (run {})", shown->run));
}

Expected<std::string> only_test_with(const Results& results, const std::string& part,
                                     const std::string& run, const Error& unknown) {
    constexpr int kCandidates = 10;
    auto found = TRY(results.store.tests_containing(part, run, kCandidates + 1));
    if (part.empty() || found.empty()) return tl::unexpected(unknown);
    const auto is_named_so = [&](const std::string& id) { return id.ends_with("::" + part); };
    if (found.size() == 1 || (is_named_so(found.front()) && !is_named_so(found[1])))
        return std::move(found.front());
    const bool more = found.size() > kCandidates;
    if (more) found.pop_back();
    return fail(ErrorKind::usage, fmt::format("'{}' is part of the names of several tests", part),
                fmt::format("name one: {}{}", fmt::join(found, ", "), more ? ", …" : ""));
}

Expected<ExitCode> show_test_of_run(const Results& results, const std::string& id,
                                    const std::string& test) {
    const auto found = TRY(read_test(results, id, test, {}));
    if (!found.view) {
        const Error unknown{ErrorKind::usage,
                            fmt::format("{} has no test {}", id, test),
                            "`runner show RUN` prints what did not pass",
                            {}};
        const auto only = TRY(only_test_with(results, test, id, unknown));
        // The id itself: it has a row, and no result that a report shows.
        return only == test ? tl::unexpected(unknown) : show_test_of_run(results, id, only);
    }
    print("{}\n", printable(test));
    print_result(found);
    return ExitCode::ok;
}

Expected<ExitCode> show_test_history(const Results& results, const std::string& test, bool color) {
    const auto history = TRY(results.store.case_history(test));
    if (history.empty())
        return fail(ErrorKind::usage, fmt::format("no stored run has a test {}", test),
                    "list a run's tests with `runner show RUN`");
    const auto listed = TRY(results.store.runs());
    Runs runs;
    for (const auto& run : listed) runs.emplace(run.id, run);
    print(
        "{}\n{}", printable(test),
        display::history_strips(strips_of(history, runs), display::terminal_size().columns, color));
    const auto& last = history.front();
    print("last run: {}  {}  {}  {}\n", last.run, iso8601(last.started),
          parsers::name_of(last.state),
          format_duration(std::chrono::duration<double>(last.duration_s)));
    const auto failed = std::find_if(history.begin(), history.end(), [](const auto& entry) {
        return reports::needs_attention(entry.state) || entry.flaky;
    });
    if (failed == history.end()) {
        print("no failure in {}\nlog: {}\n",
              counted(static_cast<long>(history.size()), "stored run"),
              printable((results.folder / runs[last.run].folder / last.log).string()));
        return ExitCode::ok;
    }
    const auto found = TRY(read_test(results, failed->run, test, failed->module));
    print("last failure: {}  {}\n", failed->run, iso8601(failed->started));
    if (found.view) print_result(found);
    return ExitCode::ok;
}

}  // namespace compat::cli
