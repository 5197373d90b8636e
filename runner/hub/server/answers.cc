#include "runner/hub/server/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/text.h"
#include "runner/hub/json_text.h"
#include "runner/hub/store/digest.h"

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr std::size_t kMessageBytes = 300;
constexpr std::size_t kFolderBytes = 8 << 20;  // a path of 1 KiB may have 500 folders
constexpr std::string_view kJson = "application/json; charset=utf-8";
constexpr std::string_view kDate = "2020-01-01T00:00:00.000Z";  // where nothing else is known

http::Response json_answer(const json& value) {
    return {200, std::string(kJson), http::text_body(json_text(value))};
}

http::Response answer_about(const Repository& repository, const json& value) {
    http::Response response = json_answer(value);
    response.headers.emplace_back("X-Repo-Commit", repository.commit);
    if (repository.is_generated) response.headers.emplace_back("X-Compat-Generated", "1");
    return response;
}

json lfs_of(const File& file) {
    return {{"oid", file.sha256}, {"size", file.size}, {"pointerSize", lfs_pointer(file).size()}};
}

json last_commit(const Repository& repository) {
    return {{"id", repository.commit},
            {"title", "Update"},
            {"date", repository.info.value("lastModified", json(kDate))}};
}

json file_entry(const Repository& repository, const File& file, bool expand) {
    json entry{{"type", "file"}, {"path", file.path}, {"size", file.size}, {"oid", file.oid}};
    if (file.is_lfs) entry["lfs"] = lfs_of(file);
    if (expand) entry["lastCommit"] = last_commit(repository);
    return entry;
}

// The hub gives a folder git's id of it, which nobody can tell from names and sizes.
json folder_entry(const Repository& repository, const std::string& path, bool expand) {
    Sha1 oid = git_blob(path.size());
    oid.add(repository.commit + path);
    json entry{{"type", "directory"}, {"path", path}, {"size", 0}, {"oid", oid.hex()}};
    if (expand) entry["lastCommit"] = last_commit(repository);
    return entry;
}

// The folders above a path, without the repository's own.
std::vector<std::string> folders_of(std::string_view path) {
    std::vector<std::string> folders;
    for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
        folders.emplace_back(path.substr(0, slash));
    return folders;
}

std::set<std::string> all_folders(const Repository& repository) {
    std::set<std::string> folders;
    std::size_t bytes = 0;
    for (const auto& [path, file] : repository.files)
        for (std::string& folder : folders_of(path)) {
            const std::size_t size = folder.size();
            if (folders.insert(std::move(folder)).second) bytes += size;
            if (bytes > kFolderBytes) return folders;
        }
    return folders;
}

// Below `folder`, and directly in it unless `recursive`.
bool is_listed(std::string_view path, std::string_view folder, bool recursive) {
    if (!folder.empty()) {
        if (!path.starts_with(folder) || path.size() <= folder.size() || path[folder.size()] != '/')
            return false;
        path.remove_prefix(folder.size() + 1);
    }
    return recursive || path.find('/') == path.npos;
}

// A header is one line of ASCII.
std::string header_text(std::string_view text) {
    std::string out = printable(text.substr(0, kMessageBytes));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
    return out;
}

}  // namespace

http::Response refused(const Refusal& refusal, const std::string& commit) {
    http::Response response = json_answer({{"error", refusal.message.substr(0, 4 << 10)}});
    response.status = refusal.status;
    if (!refusal.code.empty())
        response.headers.emplace_back("X-Error-Code", header_text(refusal.code));
    response.headers.emplace_back("X-Error-Message", header_text(refusal.message));
    if (!commit.empty()) response.headers.emplace_back("X-Repo-Commit", commit);
    return response;
}

http::Response info_answer(const Repository& repository, const Asked& asked) {
    json siblings = json::array();
    for (const auto& [path, file] : repository.files) {
        json sibling{{"rfilename", path}};
        if (asked.blobs) {
            sibling["size"] = file.size;
            sibling["blobId"] = file.oid;
            if (file.is_lfs) {
                sibling["lfs"] = lfs_of(file);
                sibling["lfs"]["sha256"] = file.sha256;
            }
        }
        siblings.push_back(std::move(sibling));
    }
    json info{{"tags", json::array()}, {"createdAt", kDate}, {"lastModified", kDate}};
    info.update(repository.info);
    info.update({{"_id", repository.commit.substr(0, 24)},
                 {"id", repository.name},
                 {"sha", repository.commit},
                 {"private", false},
                 {"disabled", false},
                 {"downloads", 0},
                 {"likes", 0},
                 {"gated", repository.gated.empty() ? json(false) : json(repository.gated)},
                 {"siblings", std::move(siblings)}});
    if (repository.kind == Kind::model) info["modelId"] = repository.name;
    if (!info.contains("author") && repository.name.find('/') != std::string::npos)
        info["author"] = repository.name.substr(0, repository.name.find('/'));
    return answer_about(repository, info);
}

http::Response tree_answer(const Repository& repository, const Asked& asked) {
    json entries = json::array();
    const auto folders = all_folders(repository);
    if (!asked.path.empty() && !folders.contains(asked.path))
        return refused({404, "EntryNotFound",
                        fmt::format("{} does not exist on \"{}\"", asked.path, asked.revision)},
                       repository.commit);
    for (const std::string& folder : folders)
        if (is_listed(folder, asked.path, asked.recursive))
            entries.push_back(folder_entry(repository, folder, asked.expand));
    for (const auto& [path, file] : repository.files)
        if (is_listed(path, asked.path, asked.recursive))
            entries.push_back(file_entry(repository, file, asked.expand));
    return answer_about(repository, entries);
}

http::Response paths_answer(const Repository& repository, const Asked& asked) {
    json entries = json::array();
    const auto folders = all_folders(repository);
    for (const std::string& path : asked.paths) {
        const auto file = repository.files.find(path);
        if (file != repository.files.end())
            entries.push_back(file_entry(repository, file->second, asked.expand));
        else if (folders.contains(path))
            entries.push_back(folder_entry(repository, path, asked.expand));
    }
    return answer_about(repository, entries);
}

http::Response refs_answer(const std::vector<const Repository*>& entries) {
    constexpr std::string_view kConvert = "refs/convert/", kPull = "refs/pr/";
    json refs{{"branches", json::array()},
              {"converts", json::array()},
              {"tags", json::array()},
              {"pullRequests", json::array()}};
    for (const Repository* entry : entries)
        for (const std::string& revision : entry->revisions) {
            if (entry->is_absent() || is_hex(revision, revision.size())) continue;
            const bool is_convert = revision.starts_with(kConvert);
            const bool is_pull = revision.starts_with(kPull);
            // Whether a name is a branch or a tag is not recorded; clients treat both alike.
            const std::string name = is_convert ? revision.substr(kConvert.size()) : revision;
            refs[is_convert ? "converts"
                 : is_pull  ? "pullRequests"
                            : "branches"]
                .push_back({{"name", name},
                            {"ref", is_convert || is_pull ? revision : "refs/heads/" + revision},
                            {"targetCommit", entry->commit}});
        }
    return json_answer(refs);
}

std::string etag_of(const File& file) {
    return fmt::format("\"{}\"", file.is_lfs ? file.sha256 : file.oid);
}

std::vector<std::pair<std::string, std::string>> file_headers(const Repository& repository,
                                                              const File& file) {
    std::vector<std::pair<std::string, std::string>> headers{
        {"X-Repo-Commit", repository.commit},
        {"X-Linked-Size", std::to_string(file.size)},
        {"X-Linked-Etag", etag_of(file)},
        {"Content-Disposition",
         fmt::format("inline; filename*=UTF-8''{0}; filename=\"{0}\";",
                     http::encoded_component(file.path.substr(file.path.rfind('/') + 1)))}};
    if (repository.is_generated) headers.emplace_back("X-Compat-Generated", "1");
    return headers;
}

std::string lfs_pointer(const File& file) {
    return fmt::format("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
                       file.sha256, file.size);
}

}  // namespace compat::hub
