#include "runner/analysis/changes/environment.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

namespace compat::analysis {

namespace {

constexpr std::string_view kVolatile = "volatile";
constexpr std::string_view kImported = "imported";  // the files of imported results

// Keys of a fingerprint, most telling first. Others come after them.
constexpr std::array<std::string_view, 19> kOrder{
    "suite",  "torch",  "python",   "packages", "framework", "source",       "host",
    "os",     "kernel", "machine",  "cpu",      "cores",     "memory_bytes", "devices",
    "runner", "shim",   "settings", "env",      "command"};

// Settings that say where results go and how they are shown.
constexpr std::array<std::string_view, 4> kOfDisplay{"settings.results", "settings.progress",
                                                     "settings.color", "settings.issue text"};

bool is_setting(std::string_view name) { return name.starts_with("settings."); }

nlohmann::json parsed(std::string_view text) {
    nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    return object.is_object() ? object : nlohmann::json::object();
}

std::optional<std::string> text_of(const nlohmann::json* value) {
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    return value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const nlohmann::json* member(const nlohmann::json& object, const std::string& key) {
    const auto at = object.find(key);
    return at == object.end() ? nullptr : &*at;
}

// A part that only one of the runs has is one change, however much it holds. Null: not there.
void add_changes(const nlohmann::json* baseline, const nlohmann::json* run, const std::string& name,
                 std::vector<EnvironmentChange>& changes) {
    if (baseline != nullptr && run != nullptr && *baseline == *run) return;
    if (name == kImported) return;
    // One that another version of the runner does not know.
    if ((baseline == nullptr || run == nullptr) && is_setting(name)) return;
    const bool are_objects =
        baseline != nullptr && run != nullptr && baseline->is_object() && run->is_object();
    const bool are_lists = baseline != nullptr && run != nullptr && baseline->is_array() &&
                           run->is_array() && baseline->size() == run->size();
    const std::string prefix = name.empty() ? "" : name + ".";
    if (are_objects) {
        for (const auto& [key, value] : baseline->items())
            add_changes(&value, member(*run, key), prefix + key, changes);
        for (const auto& [key, value] : run->items())
            if (!baseline->contains(key)) add_changes(nullptr, &value, prefix + key, changes);
    } else if (are_lists) {
        for (std::size_t i = 0; i < run->size(); ++i)
            add_changes(&(*baseline)[i], &(*run)[i], prefix + std::to_string(i), changes);
    } else if (std::find(kOfDisplay.begin(), kOfDisplay.end(), name) == kOfDisplay.end()) {
        changes.push_back({name, text_of(baseline), text_of(run)});
    }
}

std::ptrdiff_t rank_of(std::string_view name) {
    const std::string_view key = name.substr(0, name.find('.'));
    return std::find(kOrder.begin(), kOrder.end(), key) - kOrder.begin();
}

}  // namespace

std::vector<EnvironmentChange> environment_changes(std::string_view baseline,
                                                   std::string_view run) {
    nlohmann::json before = parsed(baseline), after = parsed(run);
    before.erase(std::string(kVolatile));
    after.erase(std::string(kVolatile));
    std::vector<EnvironmentChange> changes;
    add_changes(&before, &after, {}, changes);
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
