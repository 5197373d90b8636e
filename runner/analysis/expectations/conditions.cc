#include "runner/analysis/expectations/conditions.h"

#include <re2/re2.h>

#include <algorithm>
#include <compare>
#include <nlohmann/json.hpp>

namespace compat::analysis {

namespace {

using nlohmann::ordered_json;

using Numbers = std::vector<std::int64_t>;

// The leading numbers of "2.14.0a0+git": 2, 14, 0.
Numbers numbers_of(std::string_view version) {
    static const RE2 number("([0-9]{1,9})");
    Numbers numbers;
    re2::StringPiece rest(version.data(), version.size());
    std::int64_t value = 0;
    while (RE2::Consume(&rest, number, &value)) {
        numbers.push_back(value);
        if (!RE2::Consume(&rest, "\\.")) break;
    }
    return numbers;
}

std::strong_ordering compare(Numbers a, Numbers b) {
    const size_t size = std::max(a.size(), b.size());
    a.resize(size);
    b.resize(size);
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

bool satisfies(const Numbers& version, std::string_view comparison, std::string_view text) {
    Numbers bound = numbers_of(text);
    if (bound.empty()) return false;
    Numbers own = version;
    if (text.ends_with(".*")) own.resize(bound.size());
    const std::strong_ordering order = compare(own, bound);
    if (comparison == ">=") return order >= 0;
    if (comparison == "<=") return order <= 0;
    if (comparison == ">") return order > 0;
    if (comparison == "<") return order < 0;
    return comparison == "!=" ? order != 0 : order == 0;
}

bool condition_holds(const ConditionRow& row, const std::string& fact,
                     const std::vector<std::string>& values) {
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return row.type == ConditionType::version ? version_in(fact, value) : fact == value;
    });
}

}  // namespace

bool version_in(std::string_view version, std::string_view range) {
    const Numbers own = numbers_of(version);
    if (own.empty()) return false;
    static const RE2 part(R"(\s*(>=|<=|==|!=|>|<)\s*([0-9.]+\*?)\s*(?:,|$))");
    re2::StringPiece rest(range.data(), range.size()), comparison, bound;
    bool all = !rest.empty();
    while (all && !rest.empty())
        all = RE2::Consume(&rest, part, &comparison, &bound) &&
              satisfies(own, {comparison.data(), comparison.size()}, {bound.data(), bound.size()});
    return all;
}

bool conditions_hold(const Expectation& entry, const Circumstances& run) {
    return std::all_of(entry.when.begin(), entry.when.end(), [&](const auto& condition) {
        const auto row = std::find_if(kConditions.begin(), kConditions.end(),
                                      [&](const auto& r) { return r.name == condition.first; });
        const auto fact = run.facts.find(condition.first);
        return row != kConditions.end() && fact != run.facts.end() &&
               condition_holds(*row, fact->second, condition.second);
    });
}

bool is_expired(const Expectation& entry, const Circumstances& run) {
    return !entry.until.empty() && run.date > entry.until;
}

void add_fingerprint(Circumstances& to, std::string_view fingerprint) {
    const auto json = ordered_json::parse(fingerprint, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return;
    const auto text = [&](const char* key) {
        return json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                           : std::string();
    };
    to.facts["python"] = text("python");
    to.facts["machine"] = text("machine");
    const std::string kernel = text("kernel");
    to.facts["os"] = kernel.starts_with("Darwin")  ? "macos"
                     : kernel.starts_with("Linux") ? "linux"
                                                   : "";
}

std::map<std::string, std::vector<std::string>> conditions_of_device(const Circumstances& run) {
    return {{"device", {run.facts.at("device")}}, {"simulated", {run.facts.at("simulated")}}};
}

std::string to_stored(const std::vector<Expectation>& entries) {
    if (entries.empty()) return {};
    ordered_json list = ordered_json::array();
    for (const Expectation& entry : entries)
        list.push_back({{"test", entry.test},
                        {"expect", entry.expect},
                        {"when", entry.when},
                        {"reason", entry.reason},
                        {"issue", entry.issue},
                        {"until", entry.until},
                        {"selected", entry.selected}});
    return list.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::vector<Expectation> from_stored(std::string_view text) {
    std::vector<Expectation> entries;
    if (text.empty()) return entries;
    for (const auto& at : ordered_json::parse(text))
        entries.push_back({at.at("test"), at.at("expect"), at.at("when"), at.at("reason"),
                           at.at("issue"), at.at("until"), at.at("selected")});
    return entries;
}

}  // namespace compat::analysis
