#include "runner/hub/server/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "runner/base/line_reader.h"
#include "runner/http/address.h"

namespace compat::hub {

namespace {

using Components = std::vector<std::string>;
using Parameters = std::multimap<std::string, std::string>;

constexpr std::size_t kMostPaths = 10'000;

// The word after a repository's name in an address of the API, and outside of it.
struct Word {
    std::string_view text;
    bool is_api;
    Route route;
    bool is_last;  // no revision follows
    bool is_post;
};
constexpr std::array<Word, 6> kWords{{
    {"revision", true, Route::info, false, false},
    {"tree", true, Route::tree, false, false},
    {"paths-info", true, Route::paths, false, true},
    {"refs", true, Route::refs, true, false},
    {"resolve", false, Route::file, false, false},
    {"raw", false, Route::raw, false, false},
}};

// Hosts of the hub itself.
constexpr std::array<std::string_view, 3> kOwnHosts{"huggingface.co", "www.huggingface.co",
                                                    "hf.co"};

const Word* word_of(std::string_view text, bool is_api) {
    for (const Word& word : kWords)
        if (word.text == text && word.is_api == is_api) return &word;
    return nullptr;
}

// A form has "+" for a blank.
std::string form_decoded(std::string_view text) {
    std::string spaced(text);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    return http::percent_decoded(spaced).value_or("");
}

Parameters parameters_of(std::string_view form) {
    Parameters found;
    while (!form.empty() && found.size() < kMostPaths) {
        const std::size_t end = std::min(form.find('&'), form.size());
        const std::string_view one = form.substr(0, end);
        form.remove_prefix(std::min(end + 1, form.size()));
        const std::size_t equals = std::min(one.find('='), one.size());
        found.emplace(form_decoded(one.substr(0, equals)),
                      form_decoded(one.substr(std::min(equals + 1, one.size()))));
    }
    return found;
}

bool is_true(const std::string& text) { return text == "true" || text == "True" || text == "1"; }

bool has_flag(const Parameters& parameters, const std::string& name) {
    const auto at = parameters.find(name);
    return at != parameters.end() && is_true(at->second);
}

std::string joined(std::span<const std::string> components) {
    std::string text;
    for (const std::string& one : components) text += (text.empty() ? "" : "/") + one;
    return text;
}

// "refs/convert/parquet" is a revision that some clients write without quoting it.
std::size_t revision_components(std::span<const std::string> rest) {
    return rest.size() >= 3 && rest[0] == "refs" ? 3 : 1;
}

// Once each: an answer with all that a body has room for would take hundreds of MiB.
void add_path(const std::string& path, std::set<std::string>& seen, Asked& asked) {
    if (seen.size() < kMostPaths && seen.insert(path).second) asked.paths.push_back(path);
}

void read_paths(const http::Request& request, Asked& asked) {
    std::set<std::string> seen;
    if (request.content_type.find("json") != std::string::npos) {
        // Copies of what nests deep would take the whole stack.
        if (json_nests_deeper(request.body)) return;
        const auto body = nlohmann::json::parse(request.body, nullptr, false);
        if (!body.is_object()) return;
        asked.expand = body.value("expand", nlohmann::json(false)) == nlohmann::json(true);
        const auto paths = body.find("paths");
        if (paths == body.end()) return;
        const auto list = paths->is_array() ? *paths : nlohmann::json::array({*paths});
        for (const auto& path : list)
            if (path.is_string()) add_path(path.get_ref<const std::string&>(), seen, asked);
        return;
    }
    for (auto& [name, value] : parameters_of(request.body)) {
        if (name == "paths" || name == "paths[]") add_path(value, seen, asked);
        if (name == "expand") asked.expand = is_true(value);
    }
}

// `rest`: what follows the kind, from the name on. False: it is no address of a repository.
bool read_repository(const http::Request& request, std::span<const std::string> rest, bool is_api,
                     Asked& asked) {
    const Word* word = nullptr;
    std::size_t names = 0;
    for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
        if (rest.size() <= at) break;
        word = word_of(rest[at], is_api);
        names = at;
        // "org/tree" is a repository.
        if (word && (word->is_last || rest.size() > at + 1)) break;
        word = nullptr;
    }
    if (!word) {
        if (!is_api || rest.empty() || rest.size() > 2) return false;
        names = rest.size();
    }
    asked.name = joined(rest.first(names));
    if (!is_repository_name(asked.name)) return false;
    asked.route = word ? word->route : Route::info;
    const bool is_post = request.method == http::Method::post;
    if (is_post != (word && word->is_post)) {
        asked.route = is_post ? Route::read_only : Route::unreadable;
        return true;
    }
    if (!word || word->is_last) return true;
    rest = rest.subspan(names + 1);
    const std::size_t count = revision_components(rest);
    asked.revision = joined(rest.first(count));
    asked.path = joined(rest.subspan(count));
    const bool needs_path = word->route == Route::file || word->route == Route::raw;
    const bool has_valid_path = asked.path.empty() ? !needs_path : is_path(asked.path);
    if (!is_revision(asked.revision) || !has_valid_path) asked.route = Route::unreadable;
    if (is_post) read_paths(request, asked);
    return true;
}

// "/_url/https/host/path?query" is an address of another host.
std::string foreign_url(std::string_view target) {
    constexpr std::string_view kPrefix = "/_url/";
    if (!target.starts_with(kPrefix)) return {};
    target.remove_prefix(kPrefix.size());
    const std::size_t slash = target.find('/');
    if (slash == target.npos) return {};
    return fmt::format("{}://{}", target.substr(0, slash), target.substr(slash + 1));
}

// Path and query of an address of the hub.
std::string own_target(const std::string& url) {
    const std::size_t slash = url.find('/', url.find("://") + 3);
    return slash == url.npos ? "/" : url.substr(slash);
}

Asked route_of_target(const http::Request& request, const std::string& target) {
    Asked asked;
    const auto path = http::components_of(target);
    if (!path) return asked;
    const Components& all = *path;
    const std::size_t question = target.find('?');
    const Parameters query =
        parameters_of(question == target.npos ? "" : std::string_view(target).substr(question + 1));
    asked.recursive = has_flag(query, "recursive");
    asked.expand = has_flag(query, "expand");
    asked.blobs = has_flag(query, "blobs");
    const bool is_api = all.size() > 1 && all[0] == "api";
    if (is_api && all[1] == "telemetry") return asked.route = Route::telemetry, asked;
    if (is_api && all[1].starts_with("whoami")) return asked.route = Route::whoami, asked;
    std::span<const std::string> rest(all);
    if (is_api) rest = rest.subspan(1);
    const auto kind = rest.empty() ? std::nullopt : kind_of_plural(rest[0]);
    asked.kind = kind.value_or(Kind::model);
    if (kind) rest = rest.subspan(1);
    if ((kind || !is_api) && read_repository(request, rest, is_api, asked)) return asked;
    asked.full_url = std::string(kHubUrl) + target;
    asked.url = address_key(asked.full_url);
    asked.route = request.method == http::Method::post ? Route::read_only
                  : asked.url.empty()                  ? Route::unreadable
                                                       : Route::address;
    return asked;
}

}  // namespace

Asked route_of(const http::Request& request) {
    const std::string url = foreign_url(request.target);
    if (url.empty()) return route_of_target(request, request.target);
    const std::string key = address_key(url);
    for (const std::string_view host : kOwnHosts) {
        const std::string own = fmt::format("https://{}/", host);
        if (key.starts_with(own)) return route_of_target(request, own_target(url));
    }
    Asked asked;
    asked.full_url = url;
    asked.url = key;
    if (request.method == http::Method::post)
        asked.route = Route::read_only;
    else if (!key.empty())
        asked.route = Route::address;
    return asked;
}

std::string resolve_path(const Repository& repository, std::string_view revision,
                         std::string_view path) {
    std::string text =
        repository.kind == Kind::model ? "" : "/" + std::string(plural_of(repository.kind));
    text += fmt::format("/{}/resolve/{}", repository.name, http::encoded_component(revision));
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        text += "/" + http::encoded_component(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return text;
}

}  // namespace compat::hub
