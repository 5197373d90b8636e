#include "runner/display/scan/scan_json.h"

#include <nlohmann/json.hpp>

namespace compat::display {

std::string cuda_scan_json(const analysis::CudaScan& scan) {
    using Ordered = nlohmann::ordered_json;
    const auto or_null = [](const std::string& text) {
        return text.empty() ? Ordered(nullptr) : Ordered(text);
    };
    Ordered unread = Ordered::array(), sites = Ordered::array(), actions = Ordered::array();
    for (const auto& action : scan.actions)
        actions.push_back({{"name", action.name},
                           {"title", action.title},
                           {"what", action.what},
                           {"changes", action.changes}});
    for (const auto& file : scan.unread)
        unread.push_back({{"file", file.file},
                          {"line", file.line > 0 ? Ordered(file.line) : Ordered(nullptr)},
                          {"reason", file.reason}});
    long to_change = 0;
    for (const auto& site : scan.sites) {
        const bool changes = analysis::is_to_change(scan, site);
        to_change += changes;
        sites.push_back({{"file", site.file},
                         {"line", site.line},
                         {"column", site.column},
                         {"first_line", site.first_line},
                         {"last_line", site.last_line},
                         {"symbol", site.symbol},
                         {"category", site.category},
                         {"action", site.action},
                         {"to_change", changes},
                         {"source", site.source},
                         {"write", or_null(site.write)},
                         {"torch", or_null(site.torch)},
                         {"guarded", site.guarded},
                         {"suppressed", site.suppressed}});
        if (!scan.has_record) continue;
        sites.back()["ran"] = analysis::kRanNames[static_cast<size_t>(site.ran)];
        sites.back()["count"] = site.count;
    }
    Ordered found = Ordered::array();
    for (const auto& event : scan.found_by_running)
        found.push_back({{"file", event.file},
                         {"line", event.line},
                         {"kind", event.kind},
                         {"op", event.op},
                         {"from", or_null(event.from)},
                         {"to", or_null(event.to)},
                         {"count", event.count}});
    return Ordered{{"format", kScanJsonFormat},
                   {"python", scan.python},
                   {"torch", or_null(scan.torch)},
                   {"files", scan.files},
                   {"to_change", to_change},
                   {"actions", std::move(actions)},
                   {"categories", scan.categories},
                   {"unread", std::move(unread)},
                   {"sites", std::move(sites)},
                   {"found_by_running", scan.has_record ? std::move(found) : Ordered(nullptr)}}
               .dump(1, ' ', false, Ordered::error_handler_t::replace) +
           "\n";
}

}  // namespace compat::display
