#include "parsers/devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
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
std::int64_t figure_at(const json& line, const char* key, std::int64_t fallback = 0) {
    return std::clamp<std::int64_t>(integer_at(line, key, fallback), 0, kMostCounted);
}

// Sums over the processes of a record and the lines of a site.
class Collectives {
  public:
    // Whether the line is of a collective or of an optimizer's step.
    bool add(const json& line) {
        const std::string kind = string_at(line, "kind");
        const std::int64_t ranks = figure_at(line, "ranks"), count = figure_at(line, "count", 1);
        if (kind == "collective") {
            auto [file, number] = location_at(line);
            Sums& sums = calls_[{string_at(line, "test"), string_at(line, "op"),
                                 string_at(line, "group"), ranks, std::move(file), number}];
            sums.count = capped_sum(sums.count, count);
            sums.bytes = capped_sum(sums.bytes, figure_at(line, "bytes"));
            return true;
        }
        if (kind != "optimizer_step") return false;
        std::int64_t& steps = steps_[{string_at(line, "test"), ranks}];
        steps = capped_sum(steps, count);
        return true;
    }

    void write_to(DevicesResult& result) const {
        for (const auto& [site, sums] : calls_) {
            const auto& [test, op, group, ranks, file, line] = site;
            result.collectives.push_back(
                {test, op, group, ranks, {file, line}, sums.count, sums.bytes});
        }
        for (const auto& [of, count] : steps_)
            result.optimizer_steps.push_back({of.first, of.second, count});
    }

  private:
    using Site = std::tuple<std::string, std::string, std::string, std::int64_t, std::string, int>;
    struct Sums {
        std::int64_t count = 0, bytes = 0;
    };
    std::map<Site, Sums> calls_;
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> steps_;  // by test and ranks
};
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
    Collectives collectives;
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
            if (!collectives.add(line)) visit(event_from(line));
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
    collectives.write_to(result);
    foreign.tell_dropped(diagnose, "of other processes");
    return result;
}

}  // namespace compat::parsers
