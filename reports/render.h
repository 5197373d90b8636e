// Writes a run's reports as files. Not for their content (markdown/, json/json.h).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "reports/ci/github.h"
#include "reports/html/page.h"
#include "reports/markdown/markdown.h"
#include "reports/renderer.h"
#include "runner/base/error.h"
#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/base/worker.h"

namespace compat::reports {

enum class Format { markdown, json, html, junit, ctrf, github_summary, github_annotations };

struct FormatRow {
    Format format;
    std::string_view name;  // on the command line; may name several files
    std::string_view file;  // in the report's folder
};
inline constexpr std::array<FormatRow, 7> kFormats{{
    {Format::markdown, "md", "report.md"},
    {Format::json, "json", "report.json"},
    {Format::html, "html", "report.html"},
    {Format::junit, "junit", "junit.xml"},
    {Format::ctrf, "ctrf", "ctrf.json"},
    {Format::github_summary, "github", "summary.md"},
    {Format::github_annotations, "github", "annotations.txt"},
}};

// Error: usage, if this program was built without what the format needs.
[[nodiscard]] Expected<void> can_write(Format format);

// The formats that a run writes by default.
inline constexpr std::string_view kDefaultFormats = "md,json,html";
// Those that this program can write (html/page.h).
[[nodiscard]] std::vector<Format> default_formats();

// Parses "md,json": each format once, in this order. Errors: usage, naming the known formats.
[[nodiscard]] Expected<std::vector<Format>> formats_of(std::string_view list);

struct RenderOptions {
    std::size_t max_bytes = kMarkdownBytes;           // of the Markdown report
    std::size_t summary_bytes = kGithubSummaryBytes;  // of the step's summary
    GithubOptions github{};
    // For the HTML page; called on its thread.
    PageSources sources{};
};

struct RenderedFile {
    Format format;
    fs::path path;
};

// Each file gets its name when it is complete. Each format has a thread of its own.
class ReportWriter {
  public:
    // Writes each of `formats` under its own name in `folder`, and `more`. Creates missing folders.
    // Errors: io; usage, if this program cannot write one of them. Keeps `model`'s address.
    [[nodiscard]] static Expected<ReportWriter> open(const ReportModel& model,
                                                     const fs::path& folder,
                                                     const std::vector<Format>& formats,
                                                     const RenderOptions& options = {},
                                                     const std::vector<RenderedFile>& more = {});
    // Waits for a format that is several modules behind.
    void add(ModuleView module);
    // Errors: io, also those of earlier writes.
    [[nodiscard]] Expected<std::vector<RenderedFile>> finish();

  private:
    struct Output {
        RenderedFile file;
        std::unique_ptr<AtomicFile> bytes;  // behind the renderer's sink
        std::unique_ptr<Renderer> renderer;
        std::unique_ptr<Worker> worker;  // last: it uses the renderer; null: the caller's thread

        void render(const std::function<void(Renderer& to)>& part);
    };
    std::vector<Output> outputs_;
};

}  // namespace compat::reports
