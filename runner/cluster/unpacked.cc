#include "runner/cluster/unpacked.h"

#include "runner/archive/packed/run_archive.h"
#include "runner/prepare/cache.h"

namespace compat::cluster {

Expected<fs::path> unpacked(const fs::path& named, const config::Invocation& invocation) {
    if (!archive::is_archive(named)) return named;
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    std::error_code error;
    const fs::path file = fs::canonical(named, error);
    const std::string size = std::to_string(fs::file_size(named, error));
    const std::string written =
        std::to_string(fs::last_write_time(named, error).time_since_epoch().count());
    const prepare::Cache cache(settings.text(config::Setting::cache));
    std::string name = file.filename().string();
    name.resize(name.size() - archive::kArchiveSuffix.size());
    return cache
        .get("archives", name, prepare::content_key({"2", file.string(), size, written}),
             [&](const fs::path& folder, const fs::path&) {
                 return archive::unpack_run(file, folder).map([&] { return file.string(); });
             })
        .map([](const prepare::Cache::Entry& entry) { return entry.folder; });
}

Expected<RunPlace> place_of(const std::string& run, const config::Invocation& invocation) {
    if (archive::is_archive(run))
        return unpacked(run, invocation).map([](const fs::path& results) {
            return RunPlace{results, "latest"};
        });
    return config::results_folder(invocation)
        .and_then([&](const fs::path& results) { return unpacked(results, invocation); })
        .map([&](const fs::path& results) {
            return RunPlace{results, run};
        });
}

}  // namespace compat::cluster
