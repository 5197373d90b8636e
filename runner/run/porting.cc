#include "reports/porting.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "reports/gaps.h"
#include "reports/links.h"
#include "reports/markdown.h"
#include "reports/porting_pages.h"
#include "runner/archive/results.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/run/porting.h"
#include "runner/run/ready.h"
#include "runner/run/run_suite.h"
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

// What there is of a column.
struct Made {
    std::string run;  // empty: none
    std::string why_missing;
};

// The words of a table without Markdown's.
std::string plain(std::string_view words) {
    std::string text(words);
    std::erase(text, '*');
    return text;
}

config::Invocation invocation_of(const config::Invocation& invocation, const ColumnRow& column) {
    config::Invocation own = invocation;
    if (!column.shim) own.flags[Setting::shim] = "off";
    own.flags[Setting::simulate] = column.simulated.empty() ? "off" : column.simulated;
    if (column.simulated == "mps") {
        own.flags[Setting::fallback] = column.fallback ? "on" : "off";
    } else {  // what is redirected is redirected to MPS
        own.flags.erase(Setting::masquerade);
        own.flags[Setting::policy] = column.shim ? "none" : "missing";
    }
    return own;
}

// A suite that is told its device by a variable is told that of the column.
RunRequest request_of(const RunRequest& request, const ColumnRow& column) {
    constexpr std::string_view kPlace = "{device}";
    RunRequest own = request;
    own.keep_empty = true;
    for (std::string& variable : own.env)
        for (size_t at; (at = variable.find(kPlace)) != std::string::npos;)
            variable.replace(at, kPlace.size(),
                             column.simulated.empty() ? "cpu" : column.simulated);
    return own;
}

// Source, environment and shim, once for all columns: what is wrong with them is known before
// minutes are spent. A test that fails is tried again, so that one that changes by itself is none
// that changes with the device, unless somebody says how often.
Expected<config::Invocation> prepared(const PortingRequest& request,
                                      const config::Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (request.run.verbosity >= 0) print("{}\n", printable(line));
    };
    const ColumnRow& hardest = reports::row_of(Column::mps);
    auto ready = open_suite(request.run.suite, invocation_of(invocation, hardest), say);
    if (!ready) return tl::unexpected(ready.error());
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());
    config::Invocation with_retries = invocation;
    if (ready->settings[Setting::retries].source == config::Source::fallback)
        with_retries.flags[Setting::retries] = "1";
    return with_retries;
}

struct Columns {
    PerColumn<Made> made;
    std::optional<Error> error;  // that ended it
};

Columns run_columns(const PortingRequest& request, const config::Invocation& invocation) {
    Columns columns;
    std::string stopped;
    for (size_t i = 0; i < kColumns.size(); ++i) {
        Made& made = columns.made[i];
        if (!stopped.empty()) {
            made.why_missing = stopped;
            continue;
        }
        if (request.run.verbosity >= 0)
            print("{}{} ({} of {})\n", i == 0 ? "" : "\n", plain(kColumns[i].words), i + 1,
                  kColumns.size());
        const auto ran =
            run_once(request_of(request.run, kColumns[i]), invocation_of(invocation, kColumns[i]));
        if (!ran) {
            columns.error = ran.error();
            stopped = made.why_missing = to_line(ran.error());
            continue;
        }
        made.run = ran->run.id;
        if (ran->code == ExitCode::interrupted) stopped = "interrupted before it began";
    }
    return columns;
}

// One column as it is stored. Holds one module of it at a time.
Expected<void> read_column(const store::Store& store, const fs::path& results, const fs::path& out,
                           Column column, const std::string& id, reports::PortingBuilder& builder) {
    const auto run = store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    const fs::path folder = results / run->info.folder;
    reports::ModelBuilder model(*run, {folder, out});
    builder.begin(column, model.run());
    const auto seen =
        store.each_module(id, [&](const store::StoredModule& module) -> Expected<void> {
            builder.add(model.add(module));
            return {};
        });
    if (!seen) return seen;
    reports::ReportModel whole = model.finish();
    auto gaps = reports::gaps_of_run(store, id, results, out);
    if (!gaps) return tl::unexpected(gaps.error());
    whole.gaps = std::move(*gaps);
    const auto hits = store::GapLog(store).hits(id);
    if (!hits) return tl::unexpected(hits.error());
    const fs::path report = (folder / "report.md").lexically_normal();
    builder.end(whole, *hits, reports::percent_encoded(report.lexically_relative(out).string()));
    return {};
}

Expected<void> write_pages(const PortingView& view, const fs::path& out) {
    if (auto made = make_directories(out); !made) return made;
    auto page = NewFile::create(out / reports::kPortingPage);
    if (!page) return tl::unexpected(page.error());
    reports::porting_markdown(view, reports::kMarkdownBytes,
                              [&](std::string_view bytes) { page->write(bytes); });
    auto file = NewFile::create(out / reports::kPortingFile);
    if (!file) return tl::unexpected(file.error());
    reports::porting_json(view, [&](std::string_view bytes) { file->write(bytes); });
    return page->commit().and_then([&] { return file->commit(); });
}

void print_table(const PortingView& view, const fs::path& page) {
    print("\n{}: on simulated devices against plain CPU\n", printable(view.suite));
    constexpr std::string_view kRow =
        "{:<30} {:>6} {:>6} {:>6} {:>7} {:>6} {:>7} {:>6} {:>9}  {}{}\n";
    display::put(display::people(),
                 fmt::format(kRow, "", "tests", "good", "broken", "differ", "break", "not run",
                             "gain", "exercised", "time", ""));
    for (const ColumnRow& row : kColumns) {
        const auto& column = view.at(row.column);
        if (!column.run) {
            print("{:<30} missing: {}\n", plain(row.words), printable(column.why_missing));
            continue;
        }
        std::int64_t broken = 0, good = 0;
        for (size_t i = 0; i < column.totals.states.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            if (analysis::needs_attention(state))
                broken += column.totals.states[i];
            else if (state != parsers::State::skipped && state != parsers::State::not_run)
                good += column.totals.states[i];
        }
        const bool compared = row.column != Column::cpu && view.compared;
        const auto figure = [&](std::int64_t value) {
            return compared ? std::to_string(value) : std::string("-");
        };
        using enum reports::Group;
        display::put(display::people(),
                     fmt::format(kRow, plain(row.words), column.totals.collected, good, broken,
                                 figure(column.differ), figure(column.count(loss)),
                                 figure(column.count(idle)), figure(column.count(gain)),
                                 row.shim ? std::to_string(column.exercised) : "-",
                                 human(std::chrono::duration<double>(column.run->duration_s)),
                                 column.why_missing.empty() ? "" : "  not complete"));
    }
    for (const auto& mismatch : view.accounting.mismatches)
        print("    {}: {}\n", printable(plain(mismatch.module)), printable(mismatch.message));
    for (const reports::Unlike& unlike : view.unlike)
        print("not alike, {}\n", printable(reports::unlike_words(unlike)));
    print("{}\n", reports::verdict_words(view));
    if (!view.causes.empty() && is_to_fix(view.causes.front()))
        print("first: {} ({}; unblocks {} at most)\n", printable(view.causes.front().title),
              judgement_words(view.causes.front()),
              counted(view.causes.front().unblocked_tests, "test"));
    print("page: {}\n", page.string());
}

// The worst of the runs' codes. What one column alone does not collect is a difference between the
// columns and no mistake of the command line's.
ExitCode code_of(const PortingView& view) {
    std::vector<ExitCode> codes, of_selection;
    size_t runs = 0;
    for (const auto& column : view.columns) {
        if (!column.run) continue;
        ++runs;
        // A run that was killed has none.
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

Expected<ExitCode> compare(const PerColumn<Made>& made, const store::Store& store,
                           const fs::path& results, const std::string& folder) {
    std::string suite, series;
    for (const Made& column : made) {
        if (column.run.empty()) continue;
        const auto run = store.load_run(column.run);
        if (!run) return tl::unexpected(run.error());
        suite = run->info.suite;
        series = run->info.series;
    }
    const std::string id = make_run_id(series, SystemClock().wall(), std::random_device{}());
    const fs::path out = folder.empty() ? results / "porting" / id : fs::absolute(folder);
    reports::PortingBuilder builder(id, suite);
    for (const ColumnRow& row : kColumns) {
        const Made& column = made[static_cast<size_t>(row.column)];
        if (!column.why_missing.empty()) builder.note_missing(row.column, column.why_missing);
        if (column.run.empty()) continue;
        if (auto read = read_column(store, results, out, row.column, column.run, builder); !read)
            return tl::unexpected(read.error());
    }
    const PortingView view = builder.finish();
    return write_pages(view, out).map([&] {
        print_table(view, out / reports::kPortingPage);
        return code_of(view);
    });
}

// Runs that somebody names, each in the column that it is.
Expected<PerColumn<Made>> named(const store::Store& store, const std::vector<std::string>& names) {
    PerColumn<Made> made;
    for (Made& column : made) column.why_missing = "not among the runs that are compared";
    std::string suite;
    for (const std::string& name : names) {
        const auto id = store.find_run(name);
        if (!id) return tl::unexpected(id.error());
        const auto run = store.load_run(*id);
        if (!run) return tl::unexpected(run.error());
        const auto column = reports::column_of(reports::ModelBuilder(*run, {}).run());
        if (!column)
            return fail(ErrorKind::usage, fmt::format("{} cannot be compared", *id),
                        "plain CPU has --shim off, the others --simulate cuda, --simulate mps and "
                        "--simulate mps --fallback off");
        Made& place = made[static_cast<size_t>(*column)];
        if (!place.run.empty() || (!suite.empty() && suite != run->info.suite))
            return fail(ErrorKind::usage, fmt::format("{} does not fit the other runs", *id),
                        "name one run of each kind, all of one suite");
        suite = run->info.suite;
        place = {*id, {}};
    }
    return made;
}

}  // namespace

Expected<ExitCode> porting(const PortingRequest& request, const config::Invocation& invocation) {
    if (!request.runs.empty()) {
        const auto results = config::results_folder(invocation).and_then(archive::existing_results);
        if (!results) return tl::unexpected(results.error());
        const auto store =
            store::Store::open(*results / "runner.db", store::Store::Mode::read_only);
        if (!store) return tl::unexpected(store.error());
        return named(*store, request.runs).and_then([&](const PerColumn<Made>& made) {
            return compare(made, *store, *results, request.out);
        });
    }
    const auto ready = prepared(request, invocation);
    if (!ready) return tl::unexpected(ready.error());
    const Columns columns = run_columns(request, *ready);
    if (columns.error && columns.made.front().run.empty()) return tl::unexpected(*columns.error);
    const auto results = config::results_folder(invocation_of(*ready, row_of(Column::mps)))
                             .and_then(archive::existing_results);
    if (!results) return tl::unexpected(results.error());
    const auto store = store::Store::open(*results / "runner.db", store::Store::Mode::read_only);
    if (!store) return tl::unexpected(store.error());
    const auto code = compare(columns.made, *store, *results, request.out);
    if (columns.error) return tl::unexpected(*columns.error);
    return code;
}

}  // namespace compat::run
