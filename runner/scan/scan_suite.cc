#include "runner/scan/scan_suite.h"

#include <fmt/format.h>

#include "runner/prepare/share.h"
#include "runner/scan/scan_sources.h"

namespace compat::scan {

namespace {

Expected<void> add_records(const store::Store& store, const fs::path& folder, const std::string& id,
                           RecordsOfScan& records) {
    return store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
        for (const store::JobResult& attempt : module.attempts) {
            std::error_code error;
            const fs::path file = folder / attempt.devices;
            // The process may have ended before it imported torch.
            if (attempt.devices.empty() || !fs::is_regular_file(file, error)) continue;
            static_cast<void>(records.read(file));
        }
        return {};
    });
}

Expected<analysis::CudaScan> scan_run(const store::Store& store, const fs::path& results,
                                      const store::RunInfo& info, bool marks) {
    const auto share = TRY(prepare::find_share());
    const std::string root = info.root;
    std::error_code error;
    if (!fs::is_directory(root, error))
        return fail(ErrorKind::environment, fmt::format("{} is not there any more", root));
    const std::string python = fs::exists(info.python, error) ? info.python : "python3";
    auto scan = TRY(scan_sources({{root}, python, info.torch, kSuiteScanSeconds}, share));
    if (marks) {
        RecordsOfScan records({root}, scan);
        TRY(add_records(store, results / info.folder, info.id, records));
        records.mark(scan);
    }
    for (analysis::CudaSite& site : scan.sites)
        site.file = fs::path(site.file).lexically_relative(root).string();
    return scan;
}

}  // namespace

reports::CudaUses scan_suite(const store::Store& store, const fs::path& results,
                             const std::string& id, bool marks, const fs::path& page) {
    reports::CudaUses uses;
    const auto run = store.load_run(id);
    if (!run) {
        uses.unknown = to_line(run.error());
        return uses;
    }
    const store::RunInfo& info = run->info;
    const auto scan = scan_run(store, results, info, marks);
    if (!scan) {
        uses.unknown = to_line(scan.error());
        return uses;
    }
    reports::LinkResolver links({info.root, info.links_base, info.remote, info.commit, info.dirty,
                                 results / info.folder / "source", page});
    return reports::cuda_uses_of(*scan, info.root, links);
}

}  // namespace compat::scan
