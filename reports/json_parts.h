// The parts of report.json, each as a JSON value, for every format that writes them. Not for a
// whole document (json/json.h, html/chunks.h).
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/json/json_text.h"
#include "reports/model.h"

namespace compat::reports {

[[nodiscard]] inline nlohmann::ordered_json or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

template <class T>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<T>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

// The first `most` of `values`.
template <class T, class Function>
[[nodiscard]] nlohmann::ordered_json list_of(
    const std::vector<T>& values, Function function,
    std::size_t most = std::numeric_limits<std::size_t>::max()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const T& value : values) {
        if (list.size() == most) break;
        list.push_back(function(value));
    }
    return list;
}

[[nodiscard]] nlohmann::ordered_json cluster_json(const ClusterView& cluster);
[[nodiscard]] nlohmann::ordered_json reproduce_json(const std::optional<Reproduce>& reproduce);
// The members of a test's object.
void test_members(JsonText& to, const CaseView& test);
// With an empty list of cases: they may be large and are written one by one.
[[nodiscard]] nlohmann::ordered_json module_json(const ModuleView& module);
[[nodiscard]] nlohmann::ordered_json run_json(const RunView& run);
[[nodiscard]] nlohmann::ordered_json totals_json(const Totals& totals);
[[nodiscard]] nlohmann::ordered_json redirection_json(const RedirectionView& redirection);
// Null without collectives. The first `most` of its sites.
[[nodiscard]] nlohmann::ordered_json collectives_json(
    const CollectivesView& view, std::size_t most = std::numeric_limits<std::size_t>::max());
[[nodiscard]] nlohmann::ordered_json mismatch_json(const AccountingMismatch& mismatch);
[[nodiscard]] nlohmann::ordered_json load_failure_json(const LoadFailureView& failure);
[[nodiscard]] nlohmann::ordered_json leaked_json(const LeakedView& process);
[[nodiscard]] nlohmann::ordered_json writes_json(const WrittenFiles& writes);
[[nodiscard]] nlohmann::ordered_json hub_use_json(const std::optional<HubUse>& use);
[[nodiscard]] nlohmann::ordered_json expectations_json(const ExpectationsView& expectations);
[[nodiscard]] nlohmann::ordered_json blind_spot_json(const BlindSpot& spot);
[[nodiscard]] nlohmann::ordered_json first_step_json(const FirstStep& step);
[[nodiscard]] nlohmann::ordered_json history_point_json(const HistoryPoint& point);

}  // namespace compat::reports
