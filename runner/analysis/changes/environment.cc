#include "runner/analysis/changes/environment.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace compat::analysis {

namespace {

constexpr std::string_view kVolatile = "volatile";

// Keys of a fingerprint, most telling first. Others come after them.
constexpr std::array<std::string_view, 19> kOrder{
    "suite",  "torch",  "python",   "packages", "framework", "source",       "host",
    "os",     "kernel", "machine",  "cpu",      "cores",     "memory_bytes", "devices",
    "runner", "shim",   "settings", "env",      "command"};

// Settings that say where results go and how they are shown.
constexpr std::array<std::string_view, 3> kOfDisplay{"settings.results", "settings.progress",
                                                     "settings.color"};

nlohmann::json parsed(std::string_view text) {
    nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    return object.is_object() ? object : nlohmann::json::object();
}

void flatten(const nlohmann::json& value, const std::string& name,
             std::map<std::string, std::string, std::less<>>& into) {
    if (value.is_structured() && !value.empty()) {
        for (const auto& [key, inner] : value.items())
            flatten(inner, name.empty() ? key : name + "." + key, into);
        return;
    }
    into[name] = value.is_string()
                     ? value.get<std::string>()
                     : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::map<std::string, std::string, std::less<>> entries_of(std::string_view fingerprint) {
    nlohmann::json object = parsed(fingerprint);
    object.erase(std::string(kVolatile));
    std::map<std::string, std::string, std::less<>> entries;
    if (!object.empty()) flatten(object, {}, entries);
    for (const std::string_view name : kOfDisplay)
        if (const auto at = entries.find(name); at != entries.end()) entries.erase(at);
    return entries;
}

std::ptrdiff_t rank_of(std::string_view name) {
    const std::string_view key = name.substr(0, name.find('.'));
    return std::find(kOrder.begin(), kOrder.end(), key) - kOrder.begin();
}

}  // namespace

std::vector<EnvironmentChange> environment_changes(std::string_view baseline,
                                                   std::string_view run) {
    const auto before = entries_of(baseline), after = entries_of(run);
    std::vector<EnvironmentChange> changes;
    for (const auto& [name, value] : before) {
        const auto at = after.find(name);
        if (at == after.end())
            changes.push_back({name, value, std::nullopt});
        else if (at->second != value)
            changes.push_back({name, value, at->second});
    }
    for (const auto& [name, value] : after)
        if (!before.contains(name)) changes.push_back({name, std::nullopt, value});
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
        return std::tuple(rank_of(a.name), std::string_view(a.name)) <
               std::tuple(rank_of(b.name), std::string_view(b.name));
    });
    return changes;
}

bool has_fingerprint(std::string_view fingerprint) { return !parsed(fingerprint).empty(); }

std::optional<CountDrop> count_drop(std::string_view what, std::int64_t baseline, std::int64_t run,
                                    std::span<const std::int64_t> past) {
    std::int64_t spread = 0;
    if (!past.empty()) {
        const auto [fewest, most] = std::minmax_element(past.begin(), past.end());
        spread = *most - *fewest;
    }
    if (baseline - run <= spread) return std::nullopt;
    return CountDrop{what, baseline, run, spread};
}

}  // namespace compat::analysis
