#include "parsers/devices.h"

#include <set>
#include <utility>

#include "parsers/jsonl.h"

namespace compat::parsers {

namespace {
using nlohmann::json;

ShimSession session_from(const json& line) {
    return {.version = string_at(line, "shim"),
            .torch = string_at(line, "torch"),
            .host = string_at(line, "host"),
            .mode = string_at(line, "mode"),
            .simulated = string_at(line, "simulated"),
            .masquerade = flag_at(line, "masquerade")};
}

DeviceEvent event_from(const json& line) {
    return {.test = string_at(line, "test"),
            .kind = string_at(line, "kind"),
            .op = string_at(line, "op"),
            .from = string_at(line, "from"),
            .to = string_at(line, "to"),
            .location = location_at(line),
            .count = integer_at(line, "count", 1),
            .message = string_at(line, "message")};
}
}  // namespace

DevicesResult parse_devices(const LineSource& devices) {
    std::vector<DeviceEvent> events;
    DevicesResult result =
        parse_devices(devices, [&](DeviceEvent event) { events.push_back(std::move(event)); });
    result.events = std::move(events);
    return result;
}

DevicesResult parse_devices(const LineSource& devices, const DeviceEventVisitor& visit) {
    DevicesResult result;
    Diagnoser diagnose("devices", result.diagnostics);
    std::set<std::int64_t> known;  // processes that wrote an opening line
    std::set<std::int64_t> with_torch;
    LineCount foreign;
    for_each_json_line(devices, diagnose, [&](const json& line, size_t offset) {
        const std::int64_t writer = integer_at(line, "pid", -1);
        const std::string event = string_at(line, "event");
        const bool opens = event == "session" || event == "watch";
        if (opens || known.empty()) known.insert(writer);
        if (!known.contains(writer)) {
            foreign.add(offset);
        } else if (opens) {
            if (!is_known_format(line, offset, diagnose)) return false;
            if (event == "session") with_torch.insert(writer);
            // A process that watches may import torch later, or its children may.
            if (!result.shim || result.shim->version.empty()) result.shim = session_from(line);
        } else if (event == "device") {
            visit(event_from(line));
        } else if (const json& kernels = child_at(line, "kernels");
                   kernels.is_object() && (event == "test" || event == "kernels")) {
            for (const auto& [device, count] : kernels.items())
                if (count.is_number_integer())
                    result.kernels.push_back(
                        {string_at(line, "test"), device, integer_at(kernels, device.c_str())});
        }
        return true;
    });
    result.watched = known.size();
    result.with_torch = with_torch.size();
    foreign.tell_dropped(diagnose, "of other processes");
    return result;
}

}  // namespace compat::parsers
