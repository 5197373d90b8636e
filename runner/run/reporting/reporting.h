// Writes a stored run's reports. Not here: their contents (reports/), and the lines on the
// terminal (display/closing_summary.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/model.h"
#include "reports/render.h"
#include "runner/archive/run_folder.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"
#include "runner/store/store.h"

namespace compat::run {

// Reports that were requested besides the default formats.
struct ExtraReports {
    std::vector<reports::RenderedFile> files;
    bool issue_text = true;           // as ReportModel::issue_texts
    bool github = false;              // summary.md and annotations.txt, and both to GitHub
    analysis::CollectiveLink link{};  // as CollectivesView::link
};

[[nodiscard]] analysis::CollectiveLink link_of(const config::Settings& settings);

struct ReportOptions {
    fs::path out;  // empty: the run's folder
    std::vector<reports::Format> formats = reports::default_formats();
    reports::RenderOptions options{};
    ExtraReports extra{};
};

struct WrittenReports {
    store::RunInfo info;
    reports::ReportModel model;
    std::vector<reports::RenderedFile> files;
};

// The run's report to open: report.html, or report.md where there is none.
[[nodiscard]] fs::path report_to_open(const fs::path& run_folder);

// Takes a stored run: its model, then each module in turn, then the end.
struct RunReceiver {
    std::function<Expected<void>(reports::ReportModel&, reports::PageSources)> begin;
    std::function<void(reports::ModuleView)> add;
    std::function<Expected<void>()> finish;
    // Also after an error. The model and the sources live until then.
    std::function<void()> end = [] {};
    bool may_copy = true;  // linked sources to the run's folder (reports::LinkSource)
};
// Reads the run twice in one snapshot, one module at a time. `results`: the folder of the store.
// Relative links start at `report_folder`.
[[nodiscard]] Expected<reports::ReportModel> visit_run(const store::Store& store,
                                                       const fs::path& results,
                                                       const store::StoredRun& run,
                                                       const fs::path& report_folder,
                                                       const RunReceiver& receiver);

[[nodiscard]] Expected<WrittenReports> write_reports(const store::Store& store,
                                                     const fs::path& results,
                                                     const std::string& run,
                                                     const ReportOptions& which);

// Adds a finished run to the gap log, writes its reports, makes it the latest and prints the
// closing lines. Errors: those of write_reports; interrupted, while it waits for the database: then
// only the gap log lacks the run. A shard is not made the latest: it writes only its run's folder.
[[nodiscard]] Expected<void> report_run(store::Store& store, const archive::RunFolder& run,
                                        const ExtraReports& extra = {});

// Reports an interruption of `merge` or `import` (archive/temp_output.h).
[[nodiscard]] std::function<void(bool kept)> report_interruption(const std::string& run);

}  // namespace compat::run
