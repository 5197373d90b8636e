#include "runner/hub/source/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner/base/files.h"
#include "runner/base/line_reader.h"
#include "runner/base/secrets.h"
#include "runner/hub/json_text.h"
#include "runner/hub/store/digest.h"
#include "runner/hub/store/lock.h"

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr int kCacheFormat = 1;
// On a busy machine imports alone take a minute. Clients wait for 120 s (runner/plan/command.cc).
constexpr std::chrono::seconds kLimit{110};
constexpr std::size_t kMostFiles = 10'000, kWordsBytes = 500;
constexpr std::uint64_t kMostKept = kDefaultMaxBytes;  // of a run
constexpr unsigned kUnavailable = 503;

std::string words_in(const json& from, const char* key) {
    const auto at = from.find(key);
    if (at == from.end() || !at->is_string()) return {};
    return mask_own_secrets(at->get_ref<const std::string&>()).substr(0, kWordsBytes);
}

std::string_view kind_of(const Need& need) {
    return need.what == Need::What::address ? "url" : name_of(need.kind);
}

const std::string& subject_of(const Need& need) {
    return need.what == Need::What::address ? need.url : need.name;
}

// Whichever file is asked for first, a repository is the same one.
std::string cached_file(const std::string& generator, const Need& need) {
    const json key{kCacheFormat,
                   generator,
                   kind_of(need),
                   subject_of(need),
                   need.commit.empty() ? need.revision : need.commit,
                   need.what == Need::What::file ? need.path : ""};
    return "generated/" + sha256_of(json_text(key)) + ".json";
}

// The digest of what was made first; the beginning says that it was made.
std::string commit_of(const Repository& repository) {
    Sha256 digest;
    digest.add(title_of(repository.kind, repository.name));
    for (const auto& [path, file] : repository.files)
        digest.add(fmt::format("\n{} {}", file.sha256, path));
    return std::string(kGeneratedCommit) + digest.hex().substr(0, 40 - kGeneratedCommit.size());
}

std::string code_of(unsigned status, Need::What what) {
    if (status != 404) return "GatedRepo";
    return what == Need::What::file ? "EntryNotFound" : "RepoNotFound";
}

std::string type_of(const json& info, std::string_view url) {
    using Row = std::pair<std::string_view, std::string_view>;
    constexpr std::array<Row, 12> kTypes{{{".jpg", "image/jpeg"},
                                          {".jpeg", "image/jpeg"},
                                          {".png", "image/png"},
                                          {".gif", "image/gif"},
                                          {".webp", "image/webp"},
                                          {".wav", "audio/wav"},
                                          {".flac", "audio/flac"},
                                          {".mp3", "audio/mpeg"},
                                          {".mp4", "video/mp4"},
                                          {".json", "application/json"},
                                          {".txt", "text/plain; charset=utf-8"},
                                          {".html", "text/html; charset=utf-8"}}};
    const std::string given = words_in(info, "content_type");
    if (!given.empty() && given.find_first_of("\r\n") == given.npos) return given;
    url = url.substr(0, url.find('?'));
    for (const auto& [ending, type] : kTypes)
        if (url.ends_with(ending)) return std::string(type);
    return "application/octet-stream";
}

// From a result as the cache has it: {"files": [...], "info": {...}, "class", "why"} or
// {"missing", "status"}.
Got made_of(const Need& need, const json& result) {
    const json info = result.value("info", json::object());
    Got got;
    got.why = words_in(result, "why");
    if (result.contains("missing")) {
        const json status = result.value("status", json(404));
        got.status = status == json(401) ? 401 : status == json(403) ? 403 : 404;
        got.code = code_of(got.status, need.what);
        got.why = words_in(result, "missing");
        got.is_lasting = true;
        return got;
    }
    Repository made;
    made.kind = need.kind;
    made.name = need.name;
    made.revisions = {need.revision};
    made.is_generated = true;
    made.info = kept_info(info.is_object() ? info : json::object());
    made.made_from = words_in(result, "class");
    made.why = got.why;
    for (const json& one : result.value("files", json::array())) {
        auto file = file_of(one);
        if (!file) return {kUnavailable, "", "the cache of generated files is damaged"};
        std::string path = file->path;
        made.files.insert_or_assign(std::move(path), std::move(*file));
    }
    if (made.files.empty()) return {kUnavailable, "", "the generator made no file"};
    if (need.what == Need::What::address) {
        const File& file = made.files.begin()->second;
        got.address = Address{need.url,    200,     type_of(info, need.url), file.size,
                              file.sha256, got.why, /*is_generated=*/true};
        return got;
    }
    made.commit = need.what == Need::What::file ? need.commit : commit_of(made);
    got.repository = std::move(made);
    return got;
}

}  // namespace

Generator::Generator(Program program, Blobs& blobs, std::function<void()> on_tick)
    : blobs_(blobs),
      folder_(program.folder),
      client_(std::move(program), "the generator", kLimit, std::move(on_tick)) {}

void Generator::get(const Need& need, Done done) {
    std::string key;
    {
        const std::lock_guard lock(mutex_);
        key = key_;
        if (key.empty()) {
            waiting_.push_back({need, std::move(done)});
            if (waiting_.size() > 1) return;
        }
    }
    if (!key.empty()) return get_cached_or_made(need, key, done);
    client_.greet([this](Expected<json> first) {
        std::vector<Waiting> waiting;
        const std::string given = first ? words_in(*first, "key") : "";
        {
            const std::lock_guard lock(mutex_);
            waiting.swap(waiting_);
            key_ = given;
        }
        const std::string why =
            first ? "the generator failed: it gave no key" : first.error().message;
        for (const Waiting& one : waiting)
            if (given.empty())
                one.done({kUnavailable, "", why});
            else
                get_cached_or_made(one.need, given, one.done);
    });
}

void Generator::get_cached_or_made(const Need& need, const std::string& generator,
                                   const Done& done) {
    const std::string cached = cached_file(generator, need);
    if (const auto result = read_cached(need, cached)) {
        std::error_code unknown;  // `hub prune` deletes what was not used for long
        fs::last_write_time(blobs_.store() / cached, fs::file_time_type::clock::now(), unknown);
        return done(made_of(need, *result));
    }
    const bool has_file = need.what != Need::What::address && !need.path.empty();
    client_.ask({{"kind", kind_of(need)},
                 {"name", subject_of(need)},
                 {"revision", need.revision},
                 {"file", has_file ? json(need.path) : json(nullptr)}},
                [this, need, cached, done](const Expected<json>& answer) {
                    done(answer ? keep(need, *answer, cached)
                                : Got{kUnavailable, "", answer.error().message});
                });
}

// An entry that is damaged, or has content that the store lacks, is made again and takes its place.
std::optional<json> Generator::read_cached(const Need& need, const std::string& cached) const {
    const auto text = read_file(FileBelow(blobs_.store(), cached));
    if (!text || json_nests_deeper(*text)) return {};
    json result = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!result.is_object() || result.value("format", json()) != json(kCacheFormat) ||
        result.value("kind", json()) != json(kind_of(need)) ||
        result.value("name", json()) != json(subject_of(need)))
        return {};
    if (!words_in(result, "missing").empty()) return result;
    const json files = result.value("files", json());
    const bool has_all = files.is_array() && !files.empty() &&
                         std::all_of(files.begin(), files.end(), [&](const json& one) {
                             const auto file = file_of(one);
                             return file && blobs_.has(file->sha256, file->size);
                         });
    return has_all ? std::optional(std::move(result)) : std::nullopt;
}

Got Generator::keep(const Need& need, const json& answer, const std::string& cached) {
    json result{{"format", kCacheFormat},
                {"kind", kind_of(need)},
                {"name", subject_of(need)},
                {"revision", need.revision},
                {"class", words_in(answer, "class")},
                {"why", words_in(answer, "why")}};
    if (answer.contains("missing")) {
        result["missing"] = words_in(answer, "missing");
        result["status"] = answer.value("status", json(404));
    } else {
        auto files = keep_files(answer);
        if (!files)
            return {kUnavailable, "",
                    "the generator's answer cannot be used: " + to_line(files.error())};
        result["files"] = std::move(*files);
        const json info = answer.value("info", json::object());
        result["info"] = kept_info(info.is_object() ? info : json::object());
        if (info.is_object() && info.contains("content_type"))
            result["info"]["content_type"] = words_in(info, "content_type");
    }
    // Without a cache it is made again in the next run.
    (void)write_new_file(FileBelow(blobs_.store(), cached), json_text(result, 1) + "\n");
    return made_of(need, result);
}

Expected<json> Generator::keep_files(const json& answer) {
    const auto files = answer.find("files");
    if (files == answer.end() || !files->is_array() || files->size() > kMostFiles)
        return fail(ErrorKind::io, "it lists no files");
    json kept = json::array();
    for (const json& one : *files) {
        const auto text = [&](const char* key) {
            const auto at = one.is_object() ? one.find(key) : one.end();
            return one.is_object() && at != one.end() && at->is_string() ? at->get<std::string>()
                                                                         : std::string();
        };
        const std::string path = text("path"), at = text("at");
        const fs::path relative =
            fs::path(at).lexically_normal().lexically_relative(folder_.lexically_normal());
        if (!is_path(path) || relative.empty() || !is_path(relative.string()))
            return fail(ErrorKind::io, "a file lies outside of its folder");
        if (kept_ >= kMostKept)
            return fail(ErrorKind::io, fmt::format("this run has made {} GiB", kMostKept >> 30));
        const Content content = TRY(blobs_.keep(FileBelow(folder_, relative), kGeneratedFileBytes));
        kept_ += content.size;
        File file{path, content.size, content.oid, content.sha256};
        file.is_kept = true;
        kept.push_back(json_of(file));
    }
    return kept;
}

}  // namespace compat::hub
