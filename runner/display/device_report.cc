#include "runner/display/device_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/base/text.h"

namespace compat::display {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string gibibytes(std::optional<std::int64_t> bytes) {
    if (!bytes) return "unknown";
    return fmt::format("{:.1f} GiB", static_cast<double>(*bytes) / (1ull << 30));
}

std::string format_dtypes(const devices::DeviceCapabilities& device) {
    std::vector<std::string> works, fails;
    for (const auto& dtype : device.dtypes) (dtype.works ? works : fails).push_back(dtype.name);
    if (device.dtypes.empty()) return "not tried";
    return fmt::format("{}{}{}", works.empty() ? "none" : fmt::format("{}", fmt::join(works, " ")),
                       fails.empty() ? "" : ", not ", fmt::join(fails, " "));
}

// A device and its facts, one a line.
std::string describe_device(const ReportedDevice& device, bool current, bool verbose) {
    const auto& known = device.capabilities;
    std::string text = fmt::format("{} {}  {}{}\n", current ? "*" : " ", known.device,
                                   known.name.empty() ? "no name" : printable(known.name),
                                   device.simulated ? " (simulated)" : "");
    const auto fact = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format("    {:<12}{}\n", name, printable(value));
    };
    fact("found by", device.found_by);
    fact("memory", known.memory_total ? fmt::format("{}, {} free", gibibytes(known.memory_total),
                                                    gibibytes(known.memory_free))
                                      : "unknown");
    fact("capability", known.capability);
    fact("dtypes", device.dtype.empty()
                       ? format_dtypes(known)
                       : fmt::format("{}; recommended: {} ({})", format_dtypes(known), device.dtype,
                                     device.dtype_why));
    if (verbose)
        for (const auto& dtype : known.dtypes)
            if (!dtype.works) fact(dtype.name, dtype.why);
    fact("batch", fmt::format("x {}", device.batch_factor));
    fact("cost", fmt::format("${:.2f} an hour (estimate)", device.cost_per_hour));
    if (verbose) fact("metadata", device.metadata);
    return text;
}

std::string describe_settings(const DeviceReport& report, bool verbose) {
    std::string text;
    for (const auto& setting : report.settings)
        if (verbose || setting.given)
            text += fmt::format("  {:<21}{:<10}{}\n", setting.key,
                                setting.text.empty() ? "-" : printable(setting.text),
                                printable(setting.origin));
    return text.empty() ? "  all are defaults (--verbose lists them)\n" : text;
}

std::string describe_probe(const DeviceReport& report, bool verbose) {
    std::string text;
    for (const auto& probe : report.probes) {
        if (probe.why.empty() && !verbose) continue;
        text += fmt::format("  {:<12}{} ({:.1f} s)\n", probe.name,
                            probe.why.empty() ? "answered" : "failed: " + printable(probe.why),
                            probe.seconds);
    }
    return text;
}

void section(std::string& text, std::string_view title, const std::string& body) {
    if (!body.empty()) text += fmt::format("\n{}\n{}", title, body);
}

Json json_of(const ReportedDevice& device) {
    const auto& known = device.capabilities;
    const auto bytes = [](const std::optional<std::int64_t>& number) {
        return number ? Json(*number) : Json(nullptr);
    };
    const auto text = [](const std::string& words) {
        return words.empty() ? Json(nullptr) : Json(words);
    };
    Json dtypes = Json::object();
    for (const auto& dtype : known.dtypes)
        dtypes[dtype.name] = {{"works", dtype.works}, {"why", text(dtype.why)}};
    return {{"device", known.device},
            {"type", known.type},
            {"kind", device.kind},
            {"name", text(known.name)},
            {"found_by", device.found_by},
            {"simulated", device.simulated},
            {"memory_total", bytes(known.memory_total)},
            {"memory_free", bytes(known.memory_free)},
            {"capability", text(known.capability)},
            {"dtypes", std::move(dtypes)},
            {"recommended_dtype", text(device.dtype)},
            {"batch_factor", device.batch_factor},
            {"cost_per_hour", device.cost_per_hour},
            {"metadata", device.metadata.empty() ? Json(nullptr) : Json::parse(device.metadata)}};
}

}  // namespace

std::string device_report(const DeviceReport& report, bool verbose) {
    std::string text =
        report.current.empty()
            ? fmt::format("Device: none will do: {}\n", printable(report.why))
            : fmt::format("Device: {} ({}; routing {})\n", report.current, printable(report.why),
                          report.automatic ? "auto" : "manual");
    if (verbose)
        for (const auto& [device, why] : report.passed_over)
            text += fmt::format("  not {}: {}\n", device, printable(why));
    std::string devices;
    for (const auto& device : report.devices)
        devices += describe_device(device, device.capabilities.device == report.current, verbose);
    section(text, "Devices", devices);
    std::string frameworks;
    for (const auto& [name, version] : report.frameworks)
        frameworks += fmt::format("  {:<12}{}\n", name,
                                  version.empty() ? "not installed" : printable(version));
    section(text, "Frameworks", frameworks);
    section(text, "Settings", describe_settings(report, verbose));
    section(text, verbose ? "Probes" : "Probes that failed", describe_probe(report, verbose));
    std::string advice;
    for (const auto& line : report.recommendations)
        advice += fmt::format("  - {}\n", printable(line));
    section(text, "Recommendations", advice);
    return text;
}

std::string device_report_json(const DeviceReport& report) {
    Json json{{"format", kFormat},
              {"current", report.current.empty() ? Json(nullptr) : Json(report.current)},
              {"why", report.why},
              {"routing", report.automatic ? "auto" : "manual"},
              {"passed_over", Json::object()},
              {"devices", Json::array()},
              {"frameworks", Json::object()},
              {"settings", Json::object()},
              {"probes", Json::array()},
              {"recommendations", report.recommendations}};
    for (const auto& [device, why] : report.passed_over) json["passed_over"][device] = why;
    for (const auto& device : report.devices) json["devices"].push_back(json_of(device));
    for (const auto& [name, version] : report.frameworks)
        json["frameworks"][name] = version.empty() ? Json(nullptr) : Json(version);
    for (const auto& setting : report.settings)
        json["settings"][setting.key] = {{"value", setting.text}, {"origin", setting.origin}};
    for (const auto& probe : report.probes)
        json["probes"].push_back({{"name", probe.name},
                                  {"why", probe.why.empty() ? Json(nullptr) : Json(probe.why)},
                                  {"seconds", probe.seconds}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace compat::display
