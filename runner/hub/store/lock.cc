#include "runner/hub/store/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "runner/base/files.h"
#include "runner/base/line_reader.h"
#include "runner/base/names.h"
#include "runner/hub/json_text.h"
#include "runner/hub/store/blobs.h"
#include "runner/hub/store/digest.h"
#include "suites/positions.h"

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr std::size_t kInfoBytes = 16 << 10, kTextBytes = 4 << 10;
constexpr int kDepth = 24, kInfoDepth = 8;  // suites::find_positions allows 32
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 50;

// Members of a repository's info that clients read.
constexpr std::array<std::string_view, 12> kInfo{
    "pipeline_tag", "library_name", "tags",       "createdAt",   "lastModified",     "author",
    "cardData",     "config",       "mask_token", "safetensors", "transformersInfo", "disabled"};

// A member that is wrong, by its JSON pointer.
struct Wrong {
    std::string pointer, message;
};

// Each member has a check that also takes the value over.
template <class Value>
struct Member {
    std::string_view name;
    bool is_required;
    std::string_view expected;  // for the message
    bool (*take)(const json& from, Value& to);
};

template <class Value, std::size_t size>
Value read_object(const json& from, const std::string& at,
                  const std::array<Member<Value>, size>& members) {
    if (!from.is_object()) throw Wrong{at, "an object is expected"};
    for (const auto& [key, value] : from.items())
        if (std::none_of(members.begin(), members.end(),
                         [&key = key](const auto& member) { return member.name == key; }))
            throw Wrong{at + "/" + suites::pointer_token(key), "unknown key"};
    Value to;
    for (const auto& member : members) {
        const auto found = from.find(member.name);
        if (found == from.end()) {
            if (member.is_required) throw Wrong{at, fmt::format("\"{}\" is missing", member.name)};
            continue;
        }
        if (!member.take(*found, to))
            throw Wrong{fmt::format("{}/{}", at, member.name),
                        fmt::format("{} is expected", member.expected)};
    }
    return to;
}

bool take_text(const json& from, std::string& to, bool (*is_valid)(std::string_view)) {
    if (!from.is_string() || !is_valid(from.get_ref<const std::string&>())) return false;
    to = from.get<std::string>();
    return true;
}

bool take_size(const json& from, std::uint64_t& to) {
    if (!from.is_number_unsigned() || from.get<std::uint64_t>() > kMostSize) return false;
    to = from.get<std::uint64_t>();
    return true;
}

bool take_status(const json& from, unsigned& to) {
    std::uint64_t status = 0;
    if (!take_size(from, status) || status < 100 || status > 599) return false;
    to = static_cast<unsigned>(status);
    return true;
}

bool take_texts(const json& from, std::vector<std::string>& to,
                bool (*is_valid)(std::string_view)) {
    if (!from.is_array()) return false;
    return std::all_of(from.begin(), from.end(), [&](const json& one) {
        return take_text(one, to.emplace_back(), is_valid);
    });
}

bool is_sha256(std::string_view text) { return is_hex(text, 64); }
bool is_commit(std::string_view text) { return is_hex(text, 40); }
bool is_word(std::string_view text) {
    return text.size() < kTextBytes && is_utf8(text) && text.find_first_of("\r\n") == text.npos;
}
bool is_key(std::string_view text) { return !text.empty() && address_key(text) == text; }

constexpr std::string_view kSha256Words = "a SHA-256 of 64 lower-case hexadecimal digits";
constexpr std::string_view kCommitWords = "40 lower-case hexadecimal digits";

constexpr std::array<Member<File>, 6> kFileMembers{{
    {"path", true, "a path inside the repository",
     [](const json& from, File& to) { return take_text(from, to.path, is_path); }},
    {"size", true, "a number of bytes",
     [](const json& from, File& to) { return take_size(from, to.size); }},
    {"oid", true, kCommitWords,
     [](const json& from, File& to) { return take_text(from, to.oid, is_commit); }},
    {"sha256", false, kSha256Words,
     [](const json& from, File& to) {
         to.is_kept = true;
         return take_text(from, to.sha256, is_sha256);
     }},
    {"lfs", false, "true",
     [](const json& from, File& to) { return to.is_lfs = from == json(true); }},
    {"listed", false, "true",
     [](const json& from, File& to) {
         to.is_kept = false;
         return from == json(true);
     }},
}};

constexpr std::array<Member<Repository>, 9> kRepositoryMembers{{
    {"kind", true, "\"model\", \"dataset\" or \"space\"",
     [](const json& from, Repository& to) {
         const auto kind =
             from.is_string() ? kind_named(from.get_ref<const std::string&>()) : std::nullopt;
         to.kind = kind.value_or(Kind::model);
         return kind.has_value();
     }},
    {"name", true, "a repository's name",
     [](const json& from, Repository& to) { return take_text(from, to.name, is_repository_name); }},
    {"aliases", false, "a list of repositories' names",
     [](const json& from, Repository& to) {
         return take_texts(from, to.aliases, is_repository_name);
     }},
    {"revisions", true, "a list of revisions",
     [](const json& from, Repository& to) {
         std::vector<std::string> revisions;
         const bool is_list = take_texts(from, revisions, is_revision);
         to.revisions = {revisions.begin(), revisions.end()};
         return is_list;
     }},
    {"commit", false, kCommitWords,
     [](const json& from, Repository& to) { return take_text(from, to.commit, is_commit); }},
    {"gated", false, "\"auto\" or \"manual\"",
     [](const json& from, Repository& to) {
         return take_text(from, to.gated,
                          [](std::string_view text) { return text == "auto" || text == "manual"; });
     }},
    {"status", false, "a status of HTTP",
     [](const json& from, Repository& to) { return take_status(from, to.status); }},
    {"error", false, "an error code of the hub",
     [](const json& from, Repository& to) { return take_text(from, to.error, is_word); }},
    {"info", false, "an object",
     [](const json& from, Repository& to) {
         to.info = from;
         return from.is_object();
     }},
}};

constexpr std::array<Member<Address>, 5> kAddressMembers{{
    {"url", true, "an address without secrets",
     [](const json& from, Address& to) { return take_text(from, to.url, is_key); }},
    {"status", true, "a status of HTTP",
     [](const json& from, Address& to) { return take_status(from, to.status); }},
    {"type", false, "a content type",
     [](const json& from, Address& to) { return take_text(from, to.type, is_word); }},
    {"size", true, "a number of bytes",
     [](const json& from, Address& to) { return take_size(from, to.size); }},
    {"sha256", false, kSha256Words,
     [](const json& from, Address& to) { return take_text(from, to.sha256, is_sha256); }},
}};

// Calls `visit` with each element of the list `key`.
void for_each_in(const json& from, const char* key, const std::string& at,
                 const std::function<void(const json&, const std::string&)>& visit) {
    const auto list = from.find(key);
    if (list == from.end()) return;
    if (!list->is_array()) throw Wrong{fmt::format("{}/{}", at, key), "a list is expected"};
    for (std::size_t i = 0; i < list->size(); ++i)
        visit((*list)[i], fmt::format("{}/{}/{}", at, key, i));
}

Repository read_repository(json from, const std::string& at) {
    std::map<std::string, File> files;
    for_each_in(from, "files", at, [&](const json& one, const std::string& place) {
        File file = read_object<File>(one, place, kFileMembers);
        if (file.sha256.empty() && !one.contains("listed"))
            throw Wrong{place, "\"sha256\" is missing"};
        std::string path = file.path;
        files.insert_or_assign(std::move(path), std::move(file));
    });
    if (from.is_object()) from.erase("files");
    Repository to = read_object<Repository>(from, at, kRepositoryMembers);
    if (to.is_absent() == to.commit.empty()) {
        to.files = std::move(files);
        return to;
    }
    throw Wrong{at, "either \"commit\" or \"status\" is expected"};
}

Catalog read_document(const json& document) {
    if (!document.is_object()) throw Wrong{"", "an object is expected"};
    const auto format = document.find("format");
    if (format == document.end() || *format != json(kLockFormat))
        throw Wrong{format == document.end() ? "" : "/format",
                    fmt::format("this runner reads format {} alone", kLockFormat)};
    for (const auto& [key, value] : document.items())
        if (key != "format" && key != "repositories" && key != "addresses")
            throw Wrong{"/" + suites::pointer_token(key), "unknown key"};
    Catalog catalog;
    for_each_in(document, "repositories", "", [&](const json& one, const std::string& at) {
        catalog.merge(read_repository(one, at));
    });
    for_each_in(document, "addresses", "", [&](const json& one, const std::string& at) {
        Address address = read_object<Address>(one, at, kAddressMembers);
        if (address.status == 200 && address.sha256.empty())
            throw Wrong{at, "\"sha256\" is missing"};
        catalog.merge(std::move(address));
    });
    return catalog;
}

json head_of(const Repository& one) {
    json head{{"kind", name_of(one.kind)}, {"name", one.name}, {"revisions", one.revisions}};
    if (!one.aliases.empty()) head["aliases"] = one.aliases;
    if (!one.gated.empty()) head["gated"] = one.gated;
    if (!one.info.empty()) head["info"] = one.info;
    if (one.is_absent()) {
        head["status"] = one.status;
        head["error"] = one.error;
    } else {
        head["commit"] = one.commit;
    }
    return head;
}

json json_of(const Address& one) {
    json line{{"url", one.url}, {"status", one.status}, {"size", one.size}};
    if (!one.type.empty()) line["type"] = one.type;
    if (!one.sha256.empty()) line["sha256"] = one.sha256;
    return line;
}

}  // namespace

json json_of(const File& file) {
    json line{{"path", file.path}, {"size", file.size}, {"oid", file.oid}};
    if (!file.sha256.empty()) line["sha256"] = file.sha256;
    if (file.is_lfs) line["lfs"] = true;
    if (!file.is_kept) line["listed"] = true;
    return line;
}

Expected<File> file_of(const json& json) {
    try {
        return read_object<File>(json, "", kFileMembers);
    } catch (const Wrong& wrong) {
        return fail(ErrorKind::io, fmt::format("{}: {}", wrong.pointer, wrong.message));
    }
}

json kept_info(const json& info) {
    json kept = json::object();
    for (const std::string_view name : kInfo) {
        const auto at = info.find(name);
        if (at == info.end() || at->is_null()) continue;
        const std::string text = json_text(*at);
        if (text.size() <= kInfoBytes && !json_nests_deeper(text, kInfoDepth))
            kept[std::string(name)] = json::parse(text, nullptr, /*allow_exceptions=*/false);
    }
    // A number that JSON cannot hold is null then; so is a value of which parsing failed.
    for (auto at = kept.begin(); at != kept.end();)
        at = at->is_null() || at->is_discarded() ? kept.erase(at) : std::next(at);
    return kept;
}

Expected<Catalog> parse_lock(std::string_view text, const fs::path& file) {
    const bool is_deep = json_nests_deeper(text, kDepth);
    const json document = is_deep ? json(json::value_t::discarded)
                                  : json::parse(text, nullptr, /*allow_exceptions=*/false);
    try {
        if (!document.is_discarded()) return read_document(document);
    } catch (const Wrong& wrong) {
        return suites::refuse(file, suites::find_positions(text).of(wrong.pointer), wrong.message,
                              "record it again, or restore it from your history");
    }
    const auto problem = suites::find_positions(text).problem;
    return suites::refuse(file, problem ? problem->at : suites::Position{1, 1},
                          problem ? problem->message : "this is not JSON",
                          "record it again, or restore it from your history");
}

Expected<Catalog> read_lock(const fs::path& file) {
    std::error_code error;
    if (fs::file_size(file, error) > kLockBytes && !error)
        return fail(ErrorKind::suite, fmt::format("a lock has at most {} MiB", kLockBytes >> 20),
                    "", file.string());
    return parse_lock(TRY(read_file(file)), file);
}

std::string lock_identity(const fs::path& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? identity_of(status) : std::string();
}

Fd hold_lock(const fs::path& file) {
    const fs::path folder = file.parent_path();
    (void)make_directories(folder);  // an error is that of writing
    Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 50 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return fd;
}

Expected<void> write_lock(const fs::path& file, const Catalog& catalog) {
    const std::string text = lock_text(catalog);
    if (text.size() > kLockBytes)
        return fail(ErrorKind::io,
                    fmt::format("what was recorded is not kept: a lock has at most {} MiB, this "
                                "one would have {}",
                                kLockBytes >> 20, text.size() >> 20),
                    "use one for each part of the suite", file.string());
    TRY(make_directories(file.parent_path()));
    return write_file(file, text);
}

std::string lock_text(const Catalog& catalog) {
    std::vector<const Repository*> sorted;
    for (const Repository& one : catalog.repositories()) sorted.push_back(&one);
    std::sort(sorted.begin(), sorted.end(), [](const Repository* a, const Repository* b) {
        return std::tie(a->kind, a->name, a->commit, a->revisions) <
               std::tie(b->kind, b->name, b->commit, b->revisions);
    });
    std::string text = fmt::format("{{\n\"format\": {},\n\"repositories\": [", kLockFormat);
    for (const Repository* one : sorted) {
        text += one == sorted.front() ? "\n" : ",\n";
        std::string head = json_text(head_of(*one));
        head.pop_back();
        text += head;
        if (!one->files.empty()) {
            text += ",\"files\":[";
            for (const auto& [path, file] : one->files)
                text +=
                    (path == one->files.begin()->first ? "\n " : ",\n ") + json_text(json_of(file));
            text += "\n]";
        }
        text += "}";
    }
    text += "\n],\n\"addresses\": [";
    const auto& addresses = catalog.addresses();
    for (const auto& [key, address] : addresses)
        text += (key == addresses.begin()->first ? "\n" : ",\n") + json_text(json_of(address));
    return text + "\n]\n}\n";
}

}  // namespace compat::hub
