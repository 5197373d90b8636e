#include "reports/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/json.h"
#include "reports/markdown.h"
#include "runner/base/files.h"

namespace compat::reports {

namespace {

const FormatRow& row_of(Format format) {
    return *std::find_if(kFormats.begin(), kFormats.end(),
                         [&](const FormatRow& row) { return row.format == format; });
}

std::string rendered(const ReportModel& model, Format format, const RenderOptions& options) {
    switch (format) {
        case Format::markdown:
            return to_markdown(model, options.max_bytes);
        case Format::json:
            return to_json(model);
    }
    return {};
}

}  // namespace

Expected<std::vector<Format>> formats_of(std::string_view list) {
    std::vector<Format> formats;
    while (true) {
        const size_t comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        const auto row = std::find_if(kFormats.begin(), kFormats.end(),
                                      [&](const FormatRow& known) { return known.name == name; });
        if (row == kFormats.end()) {
            std::vector<std::string_view> names;
            for (const FormatRow& known : kFormats) names.push_back(known.name);
            return fail(ErrorKind::usage, fmt::format("no report format '{}'", name),
                        fmt::format("there are {}", fmt::join(names, ", ")));
        }
        if (std::find(formats.begin(), formats.end(), row->format) == formats.end())
            formats.push_back(row->format);
        if (comma == std::string_view::npos) return formats;
        list.remove_prefix(comma + 1);
    }
}

Expected<std::vector<RenderedFile>> write_reports(const ReportModel& model,
                                                  const std::filesystem::path& folder,
                                                  const std::vector<Format>& formats,
                                                  const RenderOptions& options) {
    if (auto made = make_directories(folder); !made) return tl::unexpected(made.error());
    std::vector<RenderedFile> files;
    for (const Format format : formats) {
        const auto path = folder / row_of(format).file;
        if (auto done = write_file(path, rendered(model, format, options)); !done)
            return tl::unexpected(done.error());
        files.push_back({format, path});
    }
    return files;
}

}  // namespace compat::reports
