#include "runner/hub/store/maintain.h"

#include <fmt/format.h>

#include <ctime>
#include <future>
#include <set>

#include "runner/base/files.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/line_reader.h"
#include "runner/hub/source/fetcher.h"
#include "runner/hub/store/digest.h"
#include "runner/hub/store/lock.h"

namespace compat::hub {

namespace {

constexpr std::int64_t kDay = 24 * 60 * 60;

Got get_now(Source& source, const Need& need) {
    auto promise = std::make_shared<std::promise<Got>>();
    source.get(need, [promise](Got got) { promise->set_value(std::move(got)); });
    return promise->get_future().get();
}

Expected<Repository> listing_of(Source& source, const Wanted& wanted, Catalog& catalog) {
    if (const Repository* known = catalog.find(wanted.kind, wanted.name, wanted.revision))
        if (!known->is_absent()) return *known;
    Need need;
    need.kind = wanted.kind;
    need.name = wanted.name;
    need.revision = wanted.revision;
    need.authorization = wanted.authorization;
    Got got = get_now(source, need);
    if (!got.repository)
        return fail(ErrorKind::usage,
                    fmt::format("cannot fetch {}: {}", title_of(wanted.kind, wanted.name), got.why),
                    "check its name, its kind and, if it is gated, HF_TOKEN");
    return catalog.merge(std::move(*got.repository));
}

// The SHA-256 of what a generated result lists.
std::vector<std::string> digests_in(const FileBelow& result) {
    std::vector<std::string> digests;
    const auto text = read_file(result);
    if (!text || json_nests_deeper(*text)) return digests;
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    const auto files = json.is_object() ? json.find("files") : json.end();
    if (!json.is_object() || files == json.end()) return digests;
    for (const auto& one : *files)
        if (const auto file = file_of(one)) digests.push_back(file->sha256);
    return digests;
}

void for_each_file(const fs::path& store, const char* folder,
                   const std::function<void(const FoundFile&)>& visit) {
    std::error_code error;
    // A link in the place of the folder would lead elsewhere.
    if (fs::is_symlink(fs::symlink_status(store / folder, error))) return;
    walk_files(store / folder, WalkLimits{}, [&](const FoundFile& file) {
        if (file.path.find('/') == std::string::npos) visit(file);
    });
}

}  // namespace

std::vector<Named> find_damage(const Blobs& blobs, const Catalog& catalog) {
    std::vector<Named> damage;
    std::set<std::string> right;
    const auto check = [&](const std::string& name, const std::string& sha256, std::uint64_t size) {
        if (right.contains(sha256)) return;
        const auto verified = blobs.verify(sha256, size);
        if (verified)
            right.insert(sha256);
        else
            damage.push_back({name, to_line(verified.error())});
    };
    for (const Repository& one : catalog.repositories())
        for (const auto& [path, file] : one.files)
            if (file.is_kept)
                check(fmt::format("{}: {}", title_of(one.kind, one.name), path), file.sha256,
                      file.size);
    for (const auto& [url, address] : catalog.addresses())
        if (!address.sha256.empty()) check(url, address.sha256, address.size);
    return damage;
}

Expected<Fetched> fetch(const Settings& settings, const Wanted& wanted) {
    const auto blobs = TRY(Blobs::open(settings.store));
    Catalog catalog;
    std::error_code error;
    if (fs::exists(settings.lock, error)) catalog = TRY(read_lock(settings.lock));
    Fetcher source(settings, [] {});
    Repository repository = TRY(listing_of(source, wanted, catalog));
    Fetched fetched;
    std::vector<std::string> paths = wanted.files;
    if (paths.empty())
        for (const auto& [path, file] : repository.files) paths.push_back(path);
    for (const std::string& path : paths) {
        const auto at = repository.files.find(path);
        if (at == repository.files.end()) {
            fetched.failed.push_back({path, "the repository has no such file"});
            continue;
        }
        if (!at->second.is_kept || !blobs->has(at->second.sha256, at->second.size)) {
            Need need;
            need.what = Need::What::file;
            need.kind = repository.kind;
            need.name = repository.name;
            need.path = path;
            need.commit = repository.commit;
            need.file = at->second;
            need.authorization = wanted.authorization;
            const Got got = get_now(source, need);
            fetched.bytes += got.bytes_fetched;
            if (!got.file) {
                fetched.failed.push_back({path, got.why});
                continue;
            }
            at->second = *got.file;
        }
        ++fetched.files;
    }
    source.stop();
    catalog.merge(std::move(repository));
    TRY(write_lock(settings.lock, catalog));
    return fetched;
}

std::vector<Unnamed> find_unnamed(const fs::path& store, const std::vector<Catalog>& catalogs,
                                  std::int64_t generated_before) {
    std::set<std::string> named;
    for (const Catalog& catalog : catalogs) {
        for (const Repository& one : catalog.repositories())
            for (const auto& [path, file] : one.files)
                if (file.is_kept) named.insert(file.sha256);
        for (const auto& [url, address] : catalog.addresses()) named.insert(address.sha256);
    }
    std::vector<Unnamed> unnamed;
    const auto add = [&](const char* folder, const FoundFile& file) {
        unnamed.push_back({fmt::format("{}/{}", folder, file.path),
                           static_cast<std::uint64_t>(file.status.st_size)});
    };
    for_each_file(store, "generated", [&](const FoundFile& file) {
        if (file.status.st_mtime < generated_before) return add("generated", file);
        for (std::string& digest : digests_in(FileBelow(store, fs::path("generated") / file.path)))
            named.insert(std::move(digest));
    });
    for_each_file(store, "partial", [&](const FoundFile& file) {
        if (file.status.st_mtime < generated_before) add("partial", file);
    });
    // New content may belong to a run that goes on, whose lock is not written yet.
    const std::int64_t day_ago = std::int64_t{::time(nullptr)} - kDay;
    for_each_file(store, "blobs", [&](const FoundFile& file) {
        if (!named.contains(file.path) && file.status.st_mtime < day_ago) add("blobs", file);
    });
    return unnamed;
}

void remove_unnamed(const fs::path& store, const std::vector<Unnamed>& files) {
    for (const Unnamed& file : files) remove_file(FileBelow(store, file.name));
}

}  // namespace compat::hub
