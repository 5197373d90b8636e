#include "runner/porting/stored_columns.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "reports/gaps.h"
#include "reports/links.h"
#include "runner/archive/results.h"
#include "runner/archive/shards.h"
#include "runner/base/names.h"
#include "runner/run/reporting/reporting.h"
#include "runner/store/gaps.h"

namespace compat::porting {

using reports::Column;
using reports::ColumnRow;
using reports::kColumns;

namespace {

std::string link_to_report(const fs::path& folder, const fs::path& out) {
    const fs::path report = run::report_to_open(folder).lexically_normal();
    return reports::percent_encoded(report.lexically_relative(out).string());
}

// A run beside the columns.
Expected<void> read_further(const store::Store& store, const fs::path& results, const fs::path& out,
                            const std::string& id, reports::PortingBuilder& builder) {
    const auto run = TRY(store.load_run(id));
    const fs::path folder = results / run.info.folder;
    reports::ModelBuilder model(run, {folder, out});
    builder.begin_further(model.run(), link_to_report(folder, out));
    return store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
        // Each attempt has other random numbers.
        if (reports::further_kind_of(run.info) == reports::FurtherKind::random)
            for (store::JobResult& attempt : module.attempts)
                builder.add_further(model.view({module.path, {std::move(attempt)}, {}, {}}));
        else
            builder.add_further(model.view(std::move(module)));
        return {};
    });
}

// Holds one stored module at a time.
Expected<void> read_column(const store::Store& store, const fs::path& results, const fs::path& out,
                           Column column, const std::string& id, reports::PortingBuilder& builder) {
    const auto run = TRY(store.load_run(id));
    const fs::path folder = results / run.info.folder;
    reports::ModelBuilder model(run, {folder, out});
    builder.begin(column, model.run());
    TRY(store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
        model.add(module);
        builder.add(model.view(std::move(module)));
        return {};
    }));
    reports::ReportModel whole = model.finish();
    whole.gaps = TRY(reports::gaps_of_run(store, id, results, out));
    const auto hits = TRY(store::GapLog(store).hits(id));
    builder.end(whole, hits, link_to_report(folder, out));
    return {};
}

}  // namespace

Expected<Columns> find_runs(const store::Store& store, const fs::path& results,
                            const std::vector<std::string>& names) {
    Columns columns;
    for (ColumnRun& column : columns.runs)
        column.why_missing = "not among the runs that are compared";
    std::string suite;
    for (const std::string& name : names) {
        const auto id = TRY(archive::find_run(store, results, name));
        const auto run = TRY(store.load_run(id));
        const auto unfit = [&] {
            return fail(ErrorKind::usage, fmt::format("{} does not fit the other runs", id),
                        "name one run of each kind, all of one suite");
        };
        if (!suite.empty() && suite != run.info.suite) return unfit();
        suite = run.info.suite;
        if (!run.info.gives_verdicts()) {
            const auto kind = reports::further_kind_of(run.info);
            if (kind == reports::FurtherKind::past_refusals)
                columns.kept_going.push_back(id);
            else if (kind == reports::FurtherKind::random && columns.random.empty())
                columns.random = id;
            else
                return unfit();
            continue;
        }
        const auto column = reports::column_of(reports::ModelBuilder(run, {}).run());
        if (!column)
            return fail(
                ErrorKind::usage, fmt::format("{} cannot be compared", id),
                "plain CPU has --shim off, the others --simulate cuda, --simulate mps "
                "--policy none with fallback on and off, and --simulate mps --policy missing "
                "--fallback off");
        ColumnRun& place = columns.runs[static_cast<size_t>(*column)];
        if (!place.id.empty()) return unfit();
        place = {id, {}};
    }
    return columns;
}

Expected<Comparison> compare_columns(const Columns& columns, const store::Store& store,
                                     const fs::path& results, const std::string& folder) {
    std::string suite, series;
    for (const ColumnRun& column : columns.runs) {
        if (column.id.empty()) continue;
        const auto run = TRY(store.load_run(column.id));
        suite = run.info.suite;
        series = run.info.series;
    }
    const std::string id = make_run_id(series, SystemClock().wall(), std::random_device{}());
    const fs::path out = folder.empty() ? results / "porting" / id : fs::absolute(folder);
    reports::PortingBuilder builder(id, suite);
    for (const ColumnRow& row : kColumns) {
        const ColumnRun& column = columns.runs[static_cast<size_t>(row.column)];
        if (!column.why_missing.empty())
            builder.note_missing(row.column, column.why_missing, column.command);
        if (column.id.empty()) continue;
        TRY(read_column(store, results, out, row.column, column.id, builder));
    }
    std::vector<std::string> further = columns.kept_going;
    if (!columns.random.empty()) further.push_back(columns.random);
    for (const std::string& id_of_run : further)
        TRY(read_further(store, results, out, id_of_run, builder));
    return Comparison{builder.finish(), out};
}

}  // namespace compat::porting
