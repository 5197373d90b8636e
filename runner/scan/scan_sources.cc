#include "runner/scan/scan_sources.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runner/archive/attempt_files.h"
#include "runner/base/device_kind.h"
#include "runner/base/files.h"
#include "runner/prepare/tool.h"

namespace compat::scan {

Expected<analysis::CudaScan> scan_sources(const Sources& sources, const prepare::Share& share) {
    prepare::Tool tool{{sources.python, "-I", (share.harness / "scan").string()}};
    tool.argv.insert(tool.argv.end(), sources.paths.begin(), sources.paths.end());
    tool.limit_s = sources.limit_s;
    const auto output = TRY(prepare::output_of(tool));
    auto scan = TRY(analysis::parse_cuda_scan(output));
    if (scan.files == 0 && scan.unread.empty())
        return fail(ErrorKind::usage, "scan: there are no Python files under these paths",
                    "hidden folders, virtual environments and __pycache__ are skipped");
    if (!sources.torch.empty()) analysis::limit_to_torch(scan, sources.torch);
    return scan;
}

fs::path real_path(const fs::path& path) {
    std::error_code error;
    auto real = fs::weakly_canonical(fs::absolute(path, error), error);
    return error ? path : real;
}

fs::path project_above(const std::vector<std::string>& paths) {
    // Files at the top of a project.
    constexpr std::array<std::string_view, 7> kProjectFiles{
        "suite.json", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", ".git"};
    std::error_code error;
    fs::path folder = real_path(paths.front());
    for (const std::string& path : paths)
        while (!is_inside(real_path(path), folder)) folder = folder.parent_path();
    if (!fs::is_directory(folder, error)) folder = folder.parent_path();
    for (fs::path above = folder; above != above.parent_path(); above = above.parent_path())
        for (const std::string_view file : kProjectFiles)
            if (fs::exists(above / file, error)) return above;
    return folder;
}

namespace {

// The folder that all files are in, without those of installed packages; that of the first where
// they have only the root in common; empty: there is none.
fs::path common_folder(const std::set<fs::path>& files) {
    fs::path folder, first;
    for (const fs::path& file : files) {
        const bool is_installed = std::any_of(file.begin(), file.end(), [](const fs::path& part) {
            return part == "site-packages" || part == "dist-packages";
        });
        if (is_installed || !file.is_absolute()) continue;  // as "<string>"
        if (folder.empty()) folder = first = file.parent_path();
        while (!is_inside(file, folder)) folder = folder.parent_path();
    }
    return folder.has_relative_path() ? folder : first;
}

}  // namespace

struct RecordsOfScan::Impl {
    std::vector<std::pair<fs::path, std::string>> folders;
    std::map<fs::path, std::string> names;
    std::map<std::string, std::optional<std::string>>
        known;  // file of a record -> file of the scan
    using Line = std::tuple<std::string, int, std::string, std::string, std::string, std::string>;
    std::map<Line, std::int64_t> counts;
    bool redirected = true;

    // Names a file as the scan does; nothing for a file outside it.
    std::optional<std::string> name_of(const std::string& file) {
        const fs::path real = real_path(file);
        if (const auto name = names.find(real); name != names.end()) return name->second;
        for (const auto& [folder, given] : folders) {
            const fs::path below = real.lexically_relative(folder);
            if (below.empty() || *below.begin() == "..") continue;
            const auto name = below == "." ? fs::path(given) : fs::path(given) / below;
            return name.lexically_normal().string();
        }
        return std::nullopt;
    }
};

RecordsOfScan::RecordsOfScan(const std::vector<std::string>& paths, const analysis::CudaScan& scan)
    : impl_(std::make_unique<Impl>()) {
    for (const std::string& path : paths) impl_->folders.emplace_back(real_path(path), path);
    for (const auto& site : scan.sites) impl_->names.emplace(real_path(site.file), site.file);
}

RecordsOfScan::~RecordsOfScan() = default;

Expected<fs::path> RecordsOfScan::read(const fs::path& record) {
    std::set<fs::path> outside;
    bool any_inside = false;
    const auto read =
        parsers::parse_devices(archive::lines_of(record, std::numeric_limits<std::uint64_t>::max()),
                               [&](const parsers::DeviceEvent& event) {
                                   add(event);
                                   const auto file = impl_->known.find(event.location.file);
                                   if (file == impl_->known.end()) return;
                                   any_inside |= file->second.has_value();
                                   if (!file->second) outside.insert(file->first);
                               });
    if (!read.shim)
        return fail(ErrorKind::usage, "scan: this file is not a device record",
                    "`runner exec --record FILE` writes one", record.string());
    add(*read.shim);
    return any_inside ? fs::path() : common_folder(outside);
}

void RecordsOfScan::add(const parsers::DeviceEvent& event) {
    if (event.location.file.empty()) return;
    const auto [known, is_new] = impl_->known.try_emplace(event.location.file);
    if (is_new) known->second = impl_->name_of(event.location.file);
    if (!known->second) return;
    impl_->counts[{*known->second, event.location.line, event.kind, event.op, event.from,
                   event.to}] += event.count;
}

// A host or a simulation with CUDA redirects nothing.
void RecordsOfScan::add(const parsers::ShimSession& session) {
    impl_->redirected = impl_->redirected && !session.torch.empty() && session.mode != "none" &&
                        !device_kind(session.host).serves_cuda &&
                        !device_kind(session.simulated).serves_cuda;
}

void RecordsOfScan::mark(analysis::CudaScan& scan) const {
    std::vector<analysis::RanEvent> events;
    for (const auto& [line, count] : impl_->counts) {
        const auto& [file, number, kind, op, from, to] = line;
        events.push_back({file, number, kind, op, from, to, count});
    }
    analysis::add_record(scan, events, impl_->redirected);
}

}  // namespace compat::scan
