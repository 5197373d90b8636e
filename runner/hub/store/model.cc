#include "runner/hub/store/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runner/base/names.h"
#include "runner/base/secrets.h"
#include "runner/hub/store/digest.h"

namespace compat::hub {

namespace {

struct KindRow {
    Kind kind;
    std::string_view name, plural;
};
constexpr std::array<KindRow, 3> kKinds{{
    {Kind::model, "model", "models"},
    {Kind::dataset, "dataset", "datasets"},
    {Kind::space, "space", "spaces"},
}};

constexpr std::size_t kNameBytes = 96, kRevisionBytes = 256, kPathBytes = 1024, kKeyBytes = 4096;

// Parameters of an address that sign it or are secrets, in lower case; "*" stands for anything at
// the beginning or the end.
constexpr std::array<std::string_view, 28> kSecretParameters{
    "x-amz-*",     "x-goog-*",  "x-ms-*",
    "signature",   "expires",   "policy",
    "key-pair-id", "sig",       "se",
    "sp",          "sv",        "sr",
    "st",          "skoid",     "sktid",
    "ske",         "sks",       "skv",
    "jwt",         "auth",      "authorization",
    "*token",      "*secret",   "awsaccesskeyid",
    "*_key",       "*password", "apikey",
    "*credential"};

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

void add_new(std::vector<std::string>& list, const std::vector<std::string>& more) {
    for (const std::string& one : more)
        if (!contains(list, one)) list.push_back(one);
    std::sort(list.begin(), list.end());
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

bool is_secret_parameter(std::string_view parameter) {
    const std::string name = lower(parameter.substr(0, parameter.find('=')));
    return std::any_of(kSecretParameters.begin(), kSecretParameters.end(),
                       [&](std::string_view row) {
                           if (row.starts_with('*')) return name.ends_with(row.substr(1));
                           if (row.ends_with('*'))
                               return name.starts_with(row.substr(0, row.size() - 1));
                           return name == row;
                       });
}

// Parameters whose values say what is wanted: which data, picture or form of it.
constexpr std::array<std::string_view, 36> kPlainParameters{
    "auto",   "config", "crop",   "dataset", "download", "dl",     "ext",     "file", "filename",
    "fit",    "fm",     "format", "full",    "h",        "height", "id",      "lang", "length",
    "limit",  "name",   "offset", "page",    "path",     "q",      "quality", "raw",  "revision",
    "search", "size",   "sort",   "split",   "type",     "v",      "version", "w",    "width"};
constexpr std::size_t kPlainBytes = 64, kDigestDigits = 16;
constexpr std::string_view kDigestMark = "sha256-";

bool is_plain_value(std::string_view value) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~/+,-%";
    // "%3": an address in it, which may have a query of its own.
    return value.size() <= kPlainBytes && value.find_first_not_of(kLetters) == value.npos &&
           value.find("%3") == value.npos && mask_own_secrets(value) == value;
}

bool is_digest(std::string_view value) {
    return value.starts_with(kDigestMark) &&
           is_hex(value.substr(kDigestMark.size()), kDigestDigits);
}

// Nobody knows all names that hosts give to secrets: of other values the digest stays, which tells
// addresses apart.
std::string kept_parameter(std::string_view parameter) {
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view name = parameter.substr(0, equals);
    const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
    const bool has_name = equals < parameter.size();
    const bool is_known = std::find(kPlainParameters.begin(), kPlainParameters.end(),
                                    lower(name)) != kPlainParameters.end();
    if (is_digest(has_name ? value : name) || (is_known && is_plain_value(value)))
        return std::string(parameter);
    const std::string digest(sha256_of(has_name ? value : name).substr(0, kDigestDigits));
    if (!has_name) return std::string(kDigestMark) + digest;
    return fmt::format("{}={}{}", is_plain_value(name) ? name : "x", kDigestMark, digest);
}

std::string kept_query(std::string_view query) {
    std::string kept;
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view parameter = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (parameter.empty() || is_secret_parameter(parameter)) continue;
        kept += kept.empty() ? '?' : '&';
        kept += kept_parameter(parameter);
    }
    return kept;
}

bool is_printable(std::string_view text) {
    return is_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
               return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
           });
}

bool is_component(std::string_view text) { return !text.empty() && text != "." && text != ".."; }

}  // namespace

std::string_view name_of(Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)).name; }
std::string_view plural_of(Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)).plural; }

std::optional<Kind> kind_named(std::string_view name) {
    for (const KindRow& row : kKinds)
        if (row.name == name) return row.kind;
    return {};
}

std::optional<Kind> kind_of_plural(std::string_view plural) {
    for (const KindRow& row : kKinds)
        if (row.plural == plural) return row.kind;
    return {};
}

std::string title_of(Kind kind, std::string_view name) {
    return fmt::format("{} {}", name_of(kind), name);
}

bool is_repository_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const std::size_t slash = name.find('/');
    const auto is_part = [&](std::string_view part) {
        return is_component(part) && part.size() <= kNameBytes &&
               part.find_first_not_of(kLetters) == part.npos;
    };
    if (slash == name.npos) return is_part(name);
    return is_part(name.substr(0, slash)) && is_part(name.substr(slash + 1));
}

bool is_revision(std::string_view revision) {
    return !revision.empty() && revision.size() <= kRevisionBytes && is_printable(revision);
}

bool is_path(std::string_view path) {
    if (path.size() > kPathBytes || !is_printable(path)) return false;
    while (true) {
        const std::size_t slash = path.find('/');
        if (!is_component(path.substr(0, slash))) return false;
        if (slash == path.npos) return true;
        path.remove_prefix(slash + 1);
    }
}

std::string address_key(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == url.npos || !is_printable(url)) return {};
    const std::string protocol = lower(url.substr(0, scheme));
    if (protocol != "http" && protocol != "https") return {};
    url = url.substr(0, url.find('#'));
    std::string_view rest = url.substr(scheme + 3);
    const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
    std::string_view host = rest.substr(0, host_end);
    if (const std::size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
    if (host.empty()) return {};
    rest.remove_prefix(host_end);
    const std::size_t question = std::min(rest.find('?'), rest.size());
    const std::string_view path = rest.substr(0, question);
    std::string key = fmt::format("{}://{}{}{}", protocol, lower(host), path.empty() ? "/" : path,
                                  kept_query(rest.substr(std::min(question + 1, rest.size()))));
    return key.size() <= kKeyBytes ? key : std::string();
}

const Catalog::Named& Catalog::named(Kind kind, std::string_view name) const {
    static const Named kNone;
    const auto at = by_name_.find(title_of(kind, name));
    return at == by_name_.end() ? kNone : at->second;
}

void Catalog::index(Repositories::iterator repository) {
    const auto add = [&](const std::string& name) {
        Named& named = by_name_[title_of(repository->kind, name)];
        if (std::find(named.begin(), named.end(), repository) == named.end())
            named.push_back(repository);
    };
    add(repository->name);
    for (const std::string& alias : repository->aliases) add(alias);
}

void Catalog::erase(Repositories::iterator repository) {
    const auto remove = [&](const std::string& name) {
        const auto at = by_name_.find(title_of(repository->kind, name));
        if (at == by_name_.end()) return;
        std::erase(at->second, repository);
        if (at->second.empty()) by_name_.erase(at);
    };
    remove(repository->name);
    for (const std::string& alias : repository->aliases) remove(alias);
    repositories_.erase(repository);
}

Repository* Catalog::find(Kind kind, std::string_view name, std::string_view revision) {
    const std::string wanted(revision);
    for (const auto one : named(kind, name))
        if (one->revisions.contains(wanted) || (!one->is_absent() && one->commit == wanted))
            return &*one;
    return nullptr;
}

const Repository* Catalog::find_any(Kind kind, std::string_view name) const {
    for (const auto one : named(kind, name))
        if (!one->is_absent()) return &*one;
    return nullptr;
}

std::vector<const Repository*> Catalog::find_all(Kind kind, std::string_view name) const {
    std::vector<const Repository*> all;
    for (const auto one : named(kind, name)) all.push_back(&*one);
    return all;
}

const Address* Catalog::find_address(const std::string& key) const {
    const auto at = addresses_.find(key);
    return at == addresses_.end() ? nullptr : &at->second;
}

Repository& Catalog::merge(Repository repository) {
    // A revision that was absent and is there now, or the other way, is the newer one.
    const Named others = named(repository.kind, repository.name);
    for (const auto one : others) {
        if (one->name != repository.name || one->commit == repository.commit) continue;
        for (const std::string& revision : repository.revisions) one->revisions.erase(revision);
        if (one->is_absent() && one->revisions.empty()) erase(one);
    }
    for (const auto one : named(repository.kind, repository.name)) {
        if (one->name != repository.name || one->commit != repository.commit ||
            one->status != repository.status)
            continue;
        one->revisions.merge(repository.revisions);
        add_new(one->aliases, repository.aliases);
        for (auto& [path, file] : repository.files) {
            const auto at = one->files.find(path);
            if (at == one->files.end() || (file.is_kept && !at->second.is_kept))
                one->files.insert_or_assign(path, std::move(file));
        }
        index(one);
        return *one;
    }
    repositories_.push_back(std::move(repository));
    index(std::prev(repositories_.end()));
    return repositories_.back();
}

void Catalog::merge(Address address) {
    std::string key = address.url;
    addresses_.insert_or_assign(std::move(key), std::move(address));
}

void Catalog::merge(Catalog other) {
    for (Repository& one : other.repositories_) merge(std::move(one));
    for (auto& [key, address] : other.addresses_) addresses_.try_emplace(key, std::move(address));
}

}  // namespace compat::hub
