#include "runner/run/devices/host_devices.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace compat::run {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

// A value of another type than expected counts as absent.
std::string text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> bytes_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
}

bool is_true(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

ProbedDevice device_of(const Json& object) {
    ProbedDevice probed;
    auto& device = probed.device;
    device.device = text_of(object, "device");
    device.type = text_of(object, "type");
    device.name = text_of(object, "name");
    device.memory_total = bytes_of(object, "memory_total");
    device.memory_free = bytes_of(object, "memory_free");
    device.capability = text_of(object, "capability");
    if (const auto dtypes = object.find("dtypes"); dtypes != object.end() && dtypes->is_object())
        for (const auto& [name, support] : dtypes->items())
            if (support.is_object())
                device.dtypes.push_back({name, is_true(support, "works"), text_of(support, "why")});
    if (const auto more = object.find("metadata"); more != object.end() && !more->is_null())
        probed.metadata = more->dump(-1, ' ', false, Json::error_handler_t::replace);
    return probed;
}

}  // namespace

Expected<HostDevices> parse_devices(std::string_view text) {
    const auto json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("format") || json["format"] != kFormat ||
        !json.contains("devices") || !json["devices"].is_array())
        return fail(ErrorKind::environment, "it printed no list of devices");
    HostDevices host;
    host.version = text_of(json, json.contains("version") ? "version" : "torch");
    for (const auto& device : json["devices"]) {
        if (!device.is_object() || text_of(device, "device").empty())
            return fail(ErrorKind::environment, "it printed a device without a name");
        host.devices.push_back(device_of(device));
    }
    if (const auto failed = json.find("failed"); failed != json.end() && failed->is_array())
        for (const auto& each : *failed)
            if (each.is_object())
                host.failed.emplace_back(text_of(each, "asked"), text_of(each, "why"));
    return host;
}

std::vector<std::string> device_names(std::string_view json) {
    std::vector<std::string> names;
    if (const auto host = parse_devices(json))
        for (const auto& each : host->devices) names.push_back(each.device.device);
    return names;
}

}  // namespace compat::run
