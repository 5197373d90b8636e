#include "reports/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/ci/ctrf.h"
#include "reports/ci/junit.h"
#include "reports/json/json.h"

namespace compat::reports {

namespace {

constexpr std::size_t kModulesWaiting = 1;

const FormatRow& row_of(Format format) {
    return *std::find_if(kFormats.begin(), kFormats.end(),
                         [&](const FormatRow& row) { return row.format == format; });
}

std::unique_ptr<Renderer> renderer_of(Format format, const ReportModel& model,
                                      const RenderOptions& options, Sink sink) {
    switch (format) {
        case Format::markdown:
            return markdown_report(model, options.max_bytes, std::move(sink));
        case Format::json:
            return json_report(model, std::move(sink));
        case Format::html:
            return html_report(model, options.sources, std::move(sink));
        case Format::junit:
            return junit_report(model, std::move(sink));
        case Format::ctrf:
            return ctrf_report(model, std::move(sink));
        case Format::github_summary:
            return markdown_report(model, std::min(options.max_bytes, options.summary_bytes),
                                   std::move(sink));
        case Format::github_annotations:
            return github_annotations(model, options.github, std::move(sink));
    }
    return {};
}

}  // namespace

Expected<void> can_write(Format format) {
    return format == Format::html ? can_write_html() : Expected<void>{};
}

std::vector<Format> default_formats() {
    std::vector<Format> formats = formats_of(kDefaultFormats).value();
    std::erase_if(formats, [](Format format) { return !can_write(format); });
    return formats;
}

Expected<std::vector<Format>> formats_of(std::string_view list) {
    std::vector<Format> formats;
    while (true) {
        const size_t comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        bool known_name = false;
        for (const FormatRow& row : kFormats) {
            if (row.name != name) continue;
            known_name = true;
            if (std::find(formats.begin(), formats.end(), row.format) == formats.end())
                formats.push_back(row.format);
        }
        if (!known_name) {
            std::vector<std::string_view> names;
            for (const FormatRow& known : kFormats)
                if (names.empty() || names.back() != known.name) names.push_back(known.name);
            return fail(ErrorKind::usage, fmt::format("no report format '{}'", name),
                        fmt::format("there are {}", fmt::join(names, ", ")));
        }
        if (comma == std::string_view::npos) return formats;
        list.remove_prefix(comma + 1);
    }
}

Expected<ReportWriter> ReportWriter::open(const ReportModel& model, const fs::path& folder,
                                          const std::vector<Format>& formats,
                                          const RenderOptions& options,
                                          const std::vector<RenderedFile>& more) {
    std::vector<RenderedFile> files;
    for (const Format format : formats) files.push_back({format, folder / row_of(format).file});
    files.insert(files.end(), more.begin(), more.end());
    ReportWriter writer;
    for (const auto& [format, path] : files) {
        TRY(can_write(format));
        TRY(make_directories(path.parent_path()));
        auto file = TRY(AtomicFile::create(path));
        auto bytes = std::make_unique<AtomicFile>(std::move(file));
        auto renderer = renderer_of(format, model, options,
                                    [to = bytes.get()](std::string_view text) { to->write(text); });
        // Annotations ask for the states of a run before: the store is the caller's thread's.
        auto worker = format == Format::github_annotations
                          ? nullptr
                          : std::make_unique<Worker>(kModulesWaiting);
        writer.outputs_.push_back(
            {{format, path}, std::move(bytes), std::move(renderer), std::move(worker)});
    }
    return writer;
}

void ReportWriter::Output::render(const std::function<void(Renderer& to)>& part) {
    if (worker)
        worker->add([part, to = renderer.get()] { part(*to); });
    else
        part(*renderer);
}

void ReportWriter::add(ModuleView module) {
    const auto shared = std::make_shared<const ModuleView>(std::move(module));
    for (Output& output : outputs_) output.render([shared](Renderer& to) { to.add(*shared); });
}

Expected<std::vector<RenderedFile>> ReportWriter::finish() {
    for (Output& output : outputs_) output.render([](Renderer& to) { to.finish(); });
    std::vector<RenderedFile> files;
    for (Output& output : outputs_) {
        if (output.worker) output.worker->finish();
        TRY(output.bytes->commit());
        files.push_back(output.file);
    }
    return files;
}

}  // namespace compat::reports
