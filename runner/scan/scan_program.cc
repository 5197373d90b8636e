#include "runner/scan/scan_program.h"

#include <algorithm>
#include <set>

#include "runner/prepare/share.h"
#include "runner/scan/scan_sources.h"

namespace compat::scan {

namespace {

// Below `folder`, and in no environment or hidden folder there.
bool is_own(const fs::path& file, const fs::path& folder) {
    const fs::path below = file.lexically_relative(folder);
    if (below.empty() || *below.begin() == "..") return false;
    return std::none_of(below.begin(), below.end(), [](const fs::path& part) {
        return part == "site-packages" || part == "dist-packages" || part.string().starts_with('.');
    });
}

}  // namespace

std::optional<analysis::CudaScan> scan_program(const ProgramSources& program,
                                               const parsers::DevicesResult& record) {
    const auto share = prepare::find_share();
    if (!share || program.python.empty()) return std::nullopt;
    std::error_code error;
    std::set<fs::path> folders{real_path(program.cwd)};
    std::set<fs::path> files;
    for (const std::string& word : program.words) {
        const fs::path script = program.cwd / word;
        if (script.extension() != ".py" || !fs::is_regular_file(script, error)) continue;
        files.insert(real_path(script));
        folders.insert(real_path(script).parent_path());
    }
    std::set<std::string> seen;
    for (const auto& event : record.events)
        if (event.location.file.starts_with('/') && seen.insert(event.location.file).second) {
            const fs::path file = real_path(event.location.file);
            if (std::any_of(folders.begin(), folders.end(),
                            [&](const fs::path& folder) { return is_own(file, folder); }) &&
                fs::is_regular_file(file, error))
                files.insert(file);
        }
    if (files.empty() || files.size() > kProgramScanFiles) return std::nullopt;
    Sources sources{{}, program.python, {}, kProgramScanSeconds};
    for (const fs::path& file : files) sources.paths.push_back(file.string());
    auto scan = scan_sources(sources, *share);
    if (!scan) return std::nullopt;
    RecordsOfScan records(sources.paths, *scan);
    for (const auto& event : record.events) records.add(event);
    if (record.shim) records.add(*record.shim);
    records.mark(*scan);
    return std::move(*scan);
}

}  // namespace compat::scan
