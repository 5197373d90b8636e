#include "runner/display/device_lines.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/text.h"

namespace compat::display {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDevicesFormat = 1;

std::string gibibytes(const Json& bytes) {
    if (!bytes.is_number()) return "?";
    return fmt::format("{:.1f} GiB", bytes.get<double>() / (1ull << 30));
}

std::string text_or(const Json& text, std::string_view otherwise) {
    return text.is_string() ? text.get<std::string>() : std::string(otherwise);
}

// "fp32 fp16, not fp64 (Cannot convert …)".
std::string format_dtypes(Json& dtypes) {
    std::string works, fails;
    for (auto& [name, support] : dtypes.items()) {
        if (support.value("works", false))
            works += (works.empty() ? "" : " ") + name;
        else
            fails += fmt::format(", not {} ({})", name, text_or(support["why"], "no reason given"));
    }
    return (works.empty() ? "no dtype" : works) + fails;
}

std::string describe_device(Json& device) {
    const std::string capability = text_or(device["capability"], "");
    return fmt::format("{:<7} {}: {} ({} free), {}{}", text_or(device["device"], "?"),
                       text_or(device["name"], "no name"), gibibytes(device["memory_total"]),
                       gibibytes(device["memory_free"]),
                       capability.empty() ? "" : capability + ", ",
                       format_dtypes(device["dtypes"]));
}

}  // namespace

std::vector<std::string> device_lines(std::string_view text) {
    // ordered_json keeps the probe's order of dtypes.
    auto report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!report.is_object() || report.value("format", 0) != kDevicesFormat)
        return {"device-probe printed an unknown format"};
    std::vector<std::string> lines;
    for (auto& device : report["devices"]) lines.push_back(describe_device(device));
    for (auto& failure : report["failed"])
        lines.push_back(fmt::format("{:<7} query failed: {}", text_or(failure["asked"], "?"),
                                    text_or(failure["why"], "no reason given")));
    return lines;
}

std::string describe_policy(std::string_view policy) {
    static const std::map<std::string_view, std::string_view> kWords{
        {"missing", "redirects missing devices"},
        {"full", "redirects all requests"},
        {"none", "redirects nothing"}};
    const auto words = kWords.find(policy);
    return words == kWords.end() ? "policy " + printable(policy) : std::string(words->second);
}

std::string words_of(const Way& way) {
    const std::string device =
        printable(way.simulated ? *way.simulated + " (simulated)" : way.device);
    if (way.imported) return fmt::format("device {}, imported", device);
    std::string words =
        fmt::format("device {}, fallback {}, {}", device, way.fallback ? "on" : "off",
                    way.shim ? "shim " + describe_policy(way.policy) : "shim off");
    if (way.isolation != "off") words += ", isolation " + way.isolation;
    if (way.isolation == "sandbox" && way.network) words += " with the network";
    if (!way.subset.empty()) words += ", " + printable(describe_subset(way.subset));
    return words;
}

}  // namespace compat::display
