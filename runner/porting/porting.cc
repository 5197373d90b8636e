#include "runner/porting/porting.h"

#include <algorithm>
#include <array>
#include <memory>

#include "reports/html/page.h"
#include "reports/markdown/markdown.h"
#include "reports/porting/pages.h"
#include "runner/archive/results.h"
#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/display/output.h"
#include "runner/display/porting_summary.h"
#include "runner/display/terminal.h"
#include "runner/porting/columns.h"
#include "runner/porting/further_runs.h"
#include "runner/porting/stored_columns.h"
#include "runner/scan/scan_suite.h"
#include "runner/store/store.h"

namespace compat::porting {

using reports::ColumnRow;
using reports::kColumns;
using reports::PortingView;

namespace {

Expected<void> write_pages(const PortingView& view, const fs::path& out) {
    TRY(make_directories(out));
    auto page = TRY(AtomicFile::create(out / reports::kPortingPage));
    reports::porting_markdown(view, reports::kMarkdownBytes,
                              [&](std::string_view bytes) { page.write(bytes); });
    auto file = TRY(AtomicFile::create(out / reports::kPortingFile));
    reports::porting_json(view, [&](std::string_view bytes) { file.write(bytes); });
    auto written = page.commit().and_then([&] { return file.commit(); });
    if (!written || !reports::can_write_html()) return written;
    auto html = TRY(AtomicFile::create(out / reports::kPortingHtml));
    reports::porting_html(view, [&](std::string_view bytes) { html.write(bytes); });
    return html.commit();
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

// The run of the first column that redirects; null: it has none.
const std::string* redirecting_run(const Columns& columns) {
    for (const ColumnRow& row : kColumns)
        if (const auto& id = columns.runs[static_cast<size_t>(row.column)].id;
            row.redirects() && !id.empty())
            return &id;
    return nullptr;
}

// Its records say what ran; any other run has the sources, too.
std::string run_to_scan(const Columns& columns) {
    if (const std::string* redirecting = redirecting_run(columns)) return *redirecting;
    for (const ColumnRun& run : columns.runs)
        if (!run.id.empty()) return run.id;
    return {};
}

Expected<ExitCode> show(Expected<Comparison> comparison, const Columns& columns,
                        const store::Store& store, const fs::path& results) {
    if (!comparison) return tl::unexpected(comparison.error());
    auto& [view, out] = *comparison;
    const std::string id = run_to_scan(columns);
    const std::string* redirecting = redirecting_run(columns);
    const bool marks = redirecting && id == *redirecting;
    view.cuda_uses = scan::scan_suite(store, results, id, marks, out);
    return write_pages(view, out).map([&] {
        const auto page = reports::can_write_html() ? reports::kPortingHtml : reports::kPortingPage;
        display::put(display::people(),
                     display::porting_summary(view, out / page, display::terminal_size().columns));
        return code_of(view);
    });
}

}  // namespace

Expected<ExitCode> porting(const PortingRequest& request, const config::Invocation& invocation) {
    const auto existing_results = [&](const config::Invocation& own) {
        return config::results_folder(invocation_of(own, hardest_column()))
            .and_then(archive::existing_results);
    };
    if (!request.runs.empty()) {
        const auto results = TRY(existing_results(invocation));
        const auto store =
            TRY(store::Store::open(results / "runner.db", store::Store::Mode::read_only));
        return find_runs(store, results, request.runs).and_then([&](const Columns& runs) {
            return show(compare_columns(runs, store, results, request.out), runs, store, results);
        });
    }
    const auto shared = std::make_shared<run::SharedByRuns>();
    const auto ready = TRY(prepare_columns(request.run, invocation, *shared));
    auto of_suite = TRY(run_columns(request.run, ready.invocation, shared));
    Columns& columns = of_suite;
    const auto results = TRY(existing_results(ready.invocation));
    const auto store =
        TRY(store::Store::open(results / "runner.db", store::Store::Mode::read_only));
    auto comparison = compare_columns(columns, store, results, request.out);
    for (const FurtherRuns run_tests : further_runs()) {
        if (!comparison || !columns.is_whole() || columns.error || columns.interrupted) break;
        const size_t before = columns.kept_going.size() + columns.random.size();
        if (auto ran = run_tests(request.run, ready, comparison->view, shared, columns); !ran)
            columns.error = ran.error();
        if (columns.kept_going.size() + columns.random.size() != before)
            comparison = compare_columns(columns, store, results, request.out);
    }
    const auto code = show(std::move(comparison), columns, store, results);
    if (columns.error) return tl::unexpected(*columns.error);
    if (code && columns.interrupted) return worst(std::array{*code, ExitCode::interrupted});
    return code;
}

}  // namespace compat::porting
