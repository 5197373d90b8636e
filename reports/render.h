// Reports as files. Not here: what they say (markdown.h, json.h).
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model.h"
#include "runner/base/error.h"

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
    std::optional<std::size_t> max_bytes;  // of the Markdown report
};

struct RenderedFile {
    Format format;
    std::filesystem::path path;
};

// Writes each format into `folder`, made where it is missing. Errors: io.
[[nodiscard]] Expected<std::vector<RenderedFile>> write_reports(const ReportModel& model,
                                                                const std::filesystem::path& folder,
                                                                const std::vector<Format>& formats,
                                                                const RenderOptions& options = {});

}  // namespace compat::reports
