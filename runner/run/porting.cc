#include "reports/porting/porting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "reports/gaps.h"
#include "reports/links.h"
#include "reports/markdown.h"
#include "reports/porting/pages.h"
#include "runner/archive/results.h"
#include "runner/archive/shards.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/display/porting_summary.h"
#include "runner/display/terminal.h"
#include "runner/run/collect.h"
#include "runner/run/fingerprint.h"
#include "runner/run/porting.h"
#include "runner/run/ready.h"
#include "runner/run/run_suite.h"
#include "runner/run/scan/scan_suite.h"
#include "runner/run/variables.h"
#include "runner/store/gaps.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;
using display::print;
using reports::Column;
using reports::ColumnRow;
using reports::kColumns;
using reports::PerColumn;
using reports::PortingView;

namespace {

// With n streams, the chance that a test breaks on a device by its numbers alone and then with none
// of the streams is p (1 - p)^n for a test that a share p of all streams breaks: at most 1.8 %.
constexpr int kDefaultSeeds = 20;

struct ColumnRun {
    std::string id;  // empty: there is no run
    std::string why_missing;
    std::string command{};  // that makes it; empty: not known
};

config::Invocation invocation_of(const config::Invocation& invocation, const ColumnRow& column) {
    config::Invocation own = invocation;
    if (!column.shim) own.flags[Setting::shim] = "off";
    own.flags[Setting::simulate] = column.simulated.empty() ? "off" : column.simulated;
    own.flags[Setting::policy] = column.shim ? column.policy : "missing";
    if (column.policy != "missing") own.flags.erase(Setting::masquerade);
    if (column.simulated == "mps") own.flags[Setting::fallback] = column.fallback ? "on" : "off";
    return own;
}

RunRequest request_of(const RunRequest& request, std::shared_ptr<SharedByRuns> shared) {
    RunRequest own = request;
    own.shared = std::move(shared);
    own.keep_empty = true;
    own.discovery_printed = true;
    return own;
}

// What all columns share.
struct Prepared {
    config::Invocation invocation;
    int seeds = 0;  // of the run with other random numbers
};

// Prepares source, environment and shim once for all columns, so that errors show before minutes
// are spent. By default a failed test is retried, so that a flaky test is not taken for a
// difference.
Expected<Prepared> prepared(const PortingRequest& request, const config::Invocation& invocation,
                            SharedByRuns& shared) {
    const auto say = [&](std::string_view line) {
        if (request.run.verbosity >= 0) print("{}\n", printable(line));
    };
    if (const auto env = parse_variables(request.run.env); !env) return tl::unexpected(env.error());
    const ColumnRow& hardest = reports::row_of(Column::mps);
    auto ready = open_suite(request.run.suite, invocation_of(invocation, hardest), say);
    if (!ready) return tl::unexpected(ready.error());
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());
    shared.prepared = ready->prepared;
    const auto is_default = [&](Setting setting) {
        return ready->settings[setting].source == config::Source::fallback;
    };
    Prepared prepared{invocation,
                      is_default(Setting::seeds) ? kDefaultSeeds : ready->settings.seeds()};
    // The columns have torch's own numbers, also where a variable or a file names seeds.
    prepared.invocation.flags.erase(Setting::seeds);
    if (!is_default(Setting::seeds) &&
        ready->settings[Setting::seeds].source != config::Source::flag)
        prepared.invocation.flags[Setting::seeds] = "0";
    if (is_default(Setting::retries)) prepared.invocation.flags[Setting::retries] = "1";
    return prepared;
}

// Lets the zygote of a run import while the run before it uses its own. Where anything is wrong
// with that run, it says so itself.
void start_early(const RunRequest& request, const config::Invocation& invocation,
                 const Preload& preload, SharedByRuns& shared) {
    const auto silent = [](std::string_view) {};
    auto ready = open_suite(request.suite, invocation, silent);
    auto from_user = parse_variables(request.env);
    if (!ready || !from_user || ready->settings.jobs() < 2) return;
    ready->child.from_user = std::move(*from_user);
    if (make_ready(*ready, Need::children, silent, shared.prepared))
        shared.zygote = early_zygote(*ready, series_of(*ready), preload);
}

struct Columns {
    PerColumn<ColumnRun> runs;
    std::vector<std::string> kept_going{};  // ids of runs
    std::string random{};                   // id of the run with other random numbers
    bool interrupted = false;               // a run after the columns
    std::optional<Error> error;             // after which no further column ran

    [[nodiscard]] bool is_whole() const {
        return std::all_of(runs.begin(), runs.end(), [](const ColumnRun& run) {
            return !run.id.empty() && run.why_missing.empty();
        });
    }
};

// Plain CPU lacks these tests. Another column may have them; a name that no column has is
// misspelled, and the other runs would only repeat that.
Expected<void> check_names(std::vector<std::string> ids, const RunRequest& request,
                           const config::Invocation& invocation, const SharedByRuns& shared) {
    const auto silent = [](std::string_view) {};
    const auto from_user = parse_variables(request.env);
    if (!from_user) return tl::unexpected(from_user.error());
    for (const Column column : {Column::cuda, Column::mps, Column::cuda_on_mps}) {
        if (ids.empty()) return {};
        auto ready =
            open_suite(request.suite, invocation_of(invocation, reports::row_of(column)), silent);
        if (!ready) return tl::unexpected(ready.error());
        ready->child.from_user = *from_user;
        if (auto made = make_ready(*ready, Need::children, silent, shared.prepared); !made)
            return made;
        auto unmatched = ids_without_tests(ids, *ready);
        if (!unmatched) return tl::unexpected(unmatched.error());
        ids = std::move(*unmatched);
    }
    if (ids.empty()) return {};
    return fail(ErrorKind::usage,
                fmt::format("porting: {} on plain CPU or a simulated device",
                            ids.size() == 1 ? "no such test" : "no such tests"),
                "correct the name; the other columns were not run",
                fmt::format("{}", fmt::join(ids, ", ")));
}

// The command line that makes a column, as the user asked for it.
std::string command_of(const RunRequest& request, const config::Invocation& invocation) {
    std::vector<std::string> words{"runner", request.suite};
    words.insert(words.end(), request.targets.begin(), request.targets.end());
    if (!request.keyword.empty()) words.insert(words.end(), {"-k", request.keyword});
    for (const auto& row : config::kSettings) {
        const auto flag = invocation.flags.find(row.setting);
        if (flag == invocation.flags.end()) continue;
        const std::string name(config::long_flag(row));
        if (config::is_switch(row))
            words.push_back(flag->second == "on" ? name : "--no-" + name.substr(2));
        else
            words.insert(words.end(), {name, flag->second});
    }
    for (const std::string& variable : request.env) words.insert(words.end(), {"--env", variable});
    if (!invocation.passed_on.empty()) words.emplace_back("--");
    words.insert(words.end(), invocation.passed_on.begin(), invocation.passed_on.end());
    words = masked(words);
    for (std::string& word : words) word = shell_quoted(word);
    return fmt::format("{}", fmt::join(words, " "));
}

// Errors: those of the first column, after which no other can run either.
Expected<Columns> run_columns(const PortingRequest& request, const config::Invocation& invocation,
                              const std::shared_ptr<SharedByRuns>& shared) {
    Columns columns;
    std::string stopped;
    for (size_t i = 0; i < kColumns.size(); ++i) {
        ColumnRun& run = columns.runs[i];
        if (!stopped.empty()) {
            run.why_missing = stopped;
            run.command = command_of(request.run, invocation_of(invocation, kColumns[i]));
            continue;
        }
        if (request.run.verbosity >= 0)
            print("{}{} ({} of {})\n", i == 0 ? "" : "\n", reports::plain_words(kColumns[i]), i + 1,
                  kColumns.size());
        RunRequest own = request_of(request.run, shared);
        own.options_checked = i > 0;
        shared->start_next = nullptr;
        if (i + 1 < kColumns.size())
            shared->start_next =
                [&, next = invocation_of(invocation, kColumns[i + 1])](const Preload& preload) {
                    start_early(request.run, next, preload, *shared);
                };
        const auto result = run_once(own, invocation_of(invocation, kColumns[i]));
        if (!result && i == 0) return tl::unexpected(result.error());
        if (!result) {
            columns.error = result.error();
            stopped = run.why_missing = to_line(result.error());
            run.command = command_of(request.run, invocation_of(invocation, kColumns[i]));
            continue;
        }
        run.id = result->id;
        if (i == 0)
            if (auto named = check_names(result->unmatched, request.run, invocation, *shared);
                !named)
                return tl::unexpected(named.error());
        if (result->code == ExitCode::interrupted) stopped = "interrupted before it began";
    }
    return columns;
}

std::string link_to_report(const fs::path& folder, const fs::path& out) {
    const fs::path report = (folder / "report.md").lexically_normal();
    return reports::percent_encoded(report.lexically_relative(out).string());
}

// A run beside the columns. begin(model, link) takes the run, add(model, module) each stored
// module.
template <class Begin, class Add>
Expected<void> read_further(const store::Store& store, const fs::path& results, const fs::path& out,
                            const std::string& id, Begin begin, Add add) {
    const auto run = store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results / run->info.folder;
    reports::ModelBuilder model(*run, {folder, out});
    begin(model.run(), link_to_report(folder, out));
    return store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
        add(model, std::move(module));
        return {};
    });
}

Expected<void> read_keep_going(const store::Store& store, const fs::path& results,
                               const fs::path& out, const std::string& id,
                               reports::PortingBuilder& builder) {
    return read_further(
        store, results, out, id,
        [&](const auto& run, std::string link) { builder.begin_keep_going(run, std::move(link)); },
        [&](auto& model, store::StoredModule module) {
            builder.add_keep_going(model.view(std::move(module)));
        });
}

Expected<void> read_random(const store::Store& store, const fs::path& results, const fs::path& out,
                           const std::string& id, reports::PortingBuilder& builder) {
    return read_further(
        store, results, out, id,
        [&](const auto& run, std::string link) { builder.begin_random(run, std::move(link)); },
        [&](auto& model, store::StoredModule module) {
            for (store::JobResult& attempt : module.attempts)
                builder.add_random(model.view({module.path, {std::move(attempt)}, {}, {}}));
        });
}

// Holds one stored module at a time.
Expected<void> read_column(const store::Store& store, const fs::path& results, const fs::path& out,
                           Column column, const std::string& id, reports::PortingBuilder& builder) {
    const auto run = store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results / run->info.folder;
    reports::ModelBuilder model(*run, {folder, out});
    builder.begin(column, model.run());
    const auto seen = store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
        model.add(module);
        builder.add(model.view(std::move(module)));
        return {};
    });
    if (!seen) return seen;
    reports::ReportModel whole = model.finish();
    auto gaps = reports::gaps_of_run(store, id, results, out);
    if (!gaps) return tl::unexpected(gaps.error());
    whole.gaps = std::move(*gaps);
    const auto hits = store::GapLog(store).hits(id);
    if (!hits) return tl::unexpected(hits.error());
    builder.end(whole, *hits, link_to_report(folder, out));
    return {};
}

Expected<void> write_pages(const PortingView& view, const fs::path& out) {
    if (auto made = make_directories(out); !made) return made;
    auto page = AtomicFile::create(out / reports::kPortingPage);
    if (!page) return tl::unexpected(page.error());
    reports::porting_markdown(view, reports::kMarkdownBytes,
                              [&](std::string_view bytes) { page->write(bytes); });
    auto file = AtomicFile::create(out / reports::kPortingFile);
    if (!file) return tl::unexpected(file.error());
    reports::porting_json(view, [&](std::string_view bytes) { file->write(bytes); });
    return page->commit().and_then([&] { return file->commit(); });
}

// The worst of the runs' codes. If only some columns select no test, that is a difference between
// the columns and not a usage error.
ExitCode code_of(const PortingView& view) {
    std::vector<ExitCode> codes, of_selection;
    size_t runs = 0;
    for (const auto& column : view.columns) {
        if (!column.run) continue;
        ++runs;
        // A killed run has no code.
        const auto code =
            column.run->exit_code ? ExitCode(*column.run->exit_code) : ExitCode::interrupted;
        const bool selection = code == ExitCode::usage || code == ExitCode::nothing_selected;
        (selection ? of_selection : codes).push_back(code);
    }
    if (of_selection.size() == runs) codes = of_selection;
    if (!view.accounting.closed) codes.push_back(ExitCode::unaccounted);
    if (!view.compared) codes.push_back(ExitCode::usage);
    return worst(codes);
}

struct Comparison {
    PortingView view;
    fs::path out;
};

Expected<Comparison> compared(const Columns& columns, const store::Store& store,
                              const fs::path& results, const std::string& folder) {
    std::string suite, series;
    for (const ColumnRun& column : columns.runs) {
        if (column.id.empty()) continue;
        const auto run = store.load_run(column.id);
        if (!run) return tl::unexpected(run.error());
        suite = run->info.suite;
        series = run->info.series;
    }
    const std::string id = make_run_id(series, SystemClock().wall(), std::random_device{}());
    const fs::path out = folder.empty() ? results / "porting" / id : fs::absolute(folder);
    reports::PortingBuilder builder(id, suite);
    for (const ColumnRow& row : kColumns) {
        const ColumnRun& column = columns.runs[static_cast<size_t>(row.column)];
        if (!column.why_missing.empty())
            builder.note_missing(row.column, column.why_missing, column.command);
        if (column.id.empty()) continue;
        if (auto read = read_column(store, results, out, row.column, column.id, builder); !read)
            return tl::unexpected(read.error());
    }
    for (const std::string& kept : columns.kept_going)
        if (auto read = read_keep_going(store, results, out, kept, builder); !read)
            return tl::unexpected(read.error());
    if (!columns.random.empty())
        if (auto read = read_random(store, results, out, columns.random, builder); !read)
            return tl::unexpected(read.error());
    return Comparison{builder.finish(), out};
}

// Its records say what ran; any other run has the sources, too.
std::string run_to_scan(const Columns& columns) {
    const std::string& redirecting = columns.runs[static_cast<size_t>(Column::cuda_on_mps)].id;
    if (!redirecting.empty()) return redirecting;
    for (const ColumnRun& run : columns.runs)
        if (!run.id.empty()) return run.id;
    return {};
}

Expected<ExitCode> show(Expected<Comparison> comparison, const Columns& columns,
                        const store::Store& store, const fs::path& results) {
    if (!comparison) return tl::unexpected(comparison.error());
    auto& [view, out] = *comparison;
    const std::string id = run_to_scan(columns);
    const bool marks = id == columns.runs[static_cast<size_t>(Column::cuda_on_mps)].id;
    view.cuda_uses = scan_suite(store, results, id, marks, out);
    return write_pages(view, out).map([&] {
        display::put(display::people(), display::porting_summary(view, out / reports::kPortingPage,
                                                                 display::terminal_size().columns));
        return code_of(view);
    });
}

bool breaks_by(const reports::PortedTest& test, Column column, size_t cause) {
    return std::any_of(test.differences.begin(), test.differences.end(), [&](const auto& other) {
        return other.column == column && other.cause == cause;
    });
}

// The tests that break on the column's device for a reason that the person who ports can mend, and
// that a run without refusals gets past: a request for a device that is not there ends it again.
// What a bare Mac and CUDA code on it meet alike is asked of the bare Mac alone.
std::vector<std::string> broken_tests(const PortingView& view, const ColumnRow& column) {
    std::set<std::string> ids;
    for (const reports::PortedTest& test : view.tests)
        for (const reports::Difference& difference : test.differences) {
            const ColumnRow& at = reports::row_of(difference.column);
            const reports::CauseOfDifferences& cause = view.causes[difference.cause];
            if (difference.id.empty() || at.simulated != column.simulated ||
                at.policy != column.policy || !is_to_fix(cause) || asks_for_absent_device(cause))
                continue;
            if (column.column == Column::cuda_on_mps &&
                breaks_by(test, Column::mps_strict, difference.cause))
                continue;
            // A module that cannot be loaded runs whole.
            ids.insert(test.pseudo ? test.module : difference.id);
        }
    return {ids.begin(), ids.end()};
}

// The tests of plain CPU that break on a device by what other random numbers may explain.
std::vector<std::string> perhaps_random_tests(const PortingView& view) {
    std::set<std::string> ids;
    for (const reports::PortedTest& test : view.tests)
        for (const reports::Difference& difference : test.differences)
            if (!test.pseudo && !test.id_on_cpu.empty() &&
                difference.change == analysis::Change::lost)
                for (const size_t cause : difference.causes)
                    if (view.causes[cause].may_be_random) ids.insert(test.id_on_cpu);
    return {ids.begin(), ids.end()};
}

// Runs tests on plain CPU with other random numbers, which a device has for the same seed.
Expected<void> run_random(const PortingRequest& request, const Prepared& prepared,
                          const PortingView& view, const std::shared_ptr<SharedByRuns>& shared,
                          Columns& columns) {
    RunRequest own = request_of(request.run, shared);
    own.targets = perhaps_random_tests(view);
    if (own.targets.empty() || prepared.seeds == 0) return {};
    own.keyword.clear();
    own.options_checked = true;
    if (request.run.verbosity >= 0)
        print("\nplain CPU, {} again with {}: whether random numbers decide\n",
              counted(static_cast<std::int64_t>(own.targets.size()), "broken test"),
              counted(prepared.seeds, "random stream"));
    config::Invocation flags = invocation_of(prepared.invocation, row_of(Column::cpu));
    flags.flags[Setting::seeds] = std::to_string(prepared.seeds);
    flags.flags[Setting::retries] = "0";
    const auto result = run_once(own, flags);
    if (!result) return tl::unexpected(result.error());
    columns.random = result->id;
    columns.interrupted = result->code == ExitCode::interrupted;
    return {};
}

// Runs the broken tests again where the device refuses nothing, to see what is behind.
Expected<void> run_keep_going(const PortingRequest& request, const Prepared& prepared,
                              const PortingView& view, const std::shared_ptr<SharedByRuns>& shared,
                              Columns& columns) {
    for (const Column way : {Column::cuda, Column::mps_strict, Column::cuda_on_mps}) {
        const ColumnRow& column = reports::row_of(way);
        RunRequest own = request_of(request.run, shared);
        own.targets = broken_tests(view, column);
        if (own.targets.empty()) continue;
        own.keyword.clear();
        own.options_checked = true;
        if (request.run.verbosity >= 0)
            print("\n{}: {} again, to see what is behind the first refusal\n",
                  reports::plain_words(column),
                  counted(static_cast<std::int64_t>(own.targets.size()), "broken test"));
        config::Invocation flags = invocation_of(prepared.invocation, column);
        flags.flags[Setting::keep_going] = "on";
        flags.flags[Setting::retries] = "0";
        const auto result = run_once(own, flags);
        if (!result) return tl::unexpected(result.error());
        if (!result->id.empty()) columns.kept_going.push_back(result->id);
        columns.interrupted = result->code == ExitCode::interrupted;
        if (columns.interrupted) break;
    }
    return {};
}

// The named runs by column.
Expected<Columns> find_runs(const store::Store& store, const fs::path& results,
                            const std::vector<std::string>& names) {
    Columns columns;
    for (ColumnRun& column : columns.runs)
        column.why_missing = "not among the runs that are compared";
    std::string suite;
    for (const std::string& name : names) {
        const auto id = archive::find_run(store, results, name);
        if (!id) return tl::unexpected(id.error());
        const auto run = store.load_run(*id);
        if (!run) return tl::unexpected(run.error());
        const auto unfit = [&] {
            return fail(ErrorKind::usage, fmt::format("{} does not fit the other runs", *id),
                        "name one run of each kind, all of one suite");
        };
        if (!suite.empty() && suite != run->info.suite) return unfit();
        suite = run->info.suite;
        if (run->info.keep_going) {
            columns.kept_going.push_back(*id);
            continue;
        }
        if (run->info.seeds > 0) {
            const bool on_plain_cpu =
                !run->info.shim && !run->info.simulated && run->info.device == "cpu";
            if (!on_plain_cpu || !columns.random.empty()) return unfit();
            columns.random = *id;
            continue;
        }
        const auto column = reports::column_of(reports::ModelBuilder(*run, {}).run());
        if (!column)
            return fail(
                ErrorKind::usage, fmt::format("{} cannot be compared", *id),
                "plain CPU has --shim off, the others --simulate cuda, --simulate mps "
                "--policy none with fallback on and off, and --simulate mps --policy missing "
                "--fallback off");
        ColumnRun& place = columns.runs[static_cast<size_t>(*column)];
        if (!place.id.empty()) return unfit();
        place = {*id, {}};
    }
    return columns;
}

}  // namespace

Expected<ExitCode> porting(const PortingRequest& request, const config::Invocation& invocation) {
    if (!request.runs.empty()) {
        const auto results = config::results_folder(invocation).and_then(archive::existing_results);
        if (!results) return tl::unexpected(results.error());
        const auto store =
            store::Store::open(*results / "runner.db", store::Store::Mode::read_only);
        if (!store) return tl::unexpected(store.error());
        return find_runs(*store, *results, request.runs).and_then([&](const Columns& runs) {
            return show(compared(runs, *store, *results, request.out), runs, *store, *results);
        });
    }
    const auto shared = std::make_shared<SharedByRuns>();
    const auto ready = prepared(request, invocation, *shared);
    if (!ready) return tl::unexpected(ready.error());
    auto of_suite = run_columns(request, ready->invocation, shared);
    if (!of_suite) return tl::unexpected(of_suite.error());
    Columns& columns = *of_suite;
    const auto results =
        config::results_folder(invocation_of(ready->invocation, row_of(Column::mps)))
            .and_then(archive::existing_results);
    if (!results) return tl::unexpected(results.error());
    const auto store = store::Store::open(*results / "runner.db", store::Store::Mode::read_only);
    if (!store) return tl::unexpected(store.error());
    auto comparison = compared(columns, *store, *results, request.out);
    const auto run_further = [&](auto run_tests) {
        if (!comparison || !columns.is_whole() || columns.error || columns.interrupted) return;
        const size_t before = columns.kept_going.size() + columns.random.size();
        if (auto ran = run_tests(request, *ready, comparison->view, shared, columns); !ran)
            columns.error = ran.error();
        if (columns.kept_going.size() + columns.random.size() != before)
            comparison = compared(columns, *store, *results, request.out);
    };
    run_further(run_random);
    run_further(run_keep_going);
    const auto code = show(std::move(comparison), columns, *store, *results);
    if (columns.error) return tl::unexpected(*columns.error);
    if (code && columns.interrupted) return worst(std::array{*code, ExitCode::interrupted});
    return code;
}

}  // namespace compat::run
