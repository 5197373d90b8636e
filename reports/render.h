// Reports as files. Not here: what they say (markdown.h, json.h).
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/markdown.h"
#include "reports/renderer.h"
#include "runner/base/error.h"
#include "runner/base/files.h"

namespace compat::reports {

enum class Format { markdown, json };

struct FormatRow {
    Format format;
    std::string_view name;  // on the command line
    std::string_view file;  // in the report's folder
};
inline constexpr std::array<FormatRow, 2> kFormats{{
    {Format::markdown, "md", "report.md"},
    {Format::json, "json", "report.json"},
}};

// "md,json" as formats, each once, in the order given. Errors: usage, naming those that exist.
[[nodiscard]] Expected<std::vector<Format>> formats_of(std::string_view list);

struct RenderOptions {
    std::size_t max_bytes = kMarkdownBytes;  // of the Markdown report
};

struct RenderedFile {
    Format format;
    std::filesystem::path path;
};

// A run's reports as they are written: to their names they come when all is there.
class ReportWriter {
  public:
    // Writes each format into `folder`, made where it is missing. Errors: io.
    [[nodiscard]] static Expected<ReportWriter> open(const RunView& run,
                                                     const std::filesystem::path& folder,
                                                     const std::vector<Format>& formats,
                                                     const RenderOptions& options = {});
    void add(const ModuleView& module);
    // Errors: io, also of what was added before.
    [[nodiscard]] Expected<std::vector<RenderedFile>> finish(const ReportModel& model);

  private:
    struct Output {
        RenderedFile file;
        std::unique_ptr<NewFile> bytes;  // where the renderer's sink leads
        std::unique_ptr<Renderer> renderer;
    };
    std::vector<Output> outputs_;
};

}  // namespace compat::reports
