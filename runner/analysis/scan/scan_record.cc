#include "runner/analysis/scan/scan_record.h"

#include <algorithm>
#include <map>
#include <vector>

namespace compat::analysis {

namespace {

using SitesOfFile = std::map<std::string, std::vector<CudaSite*>>;

std::vector<CudaSite*> sites_at(const SitesOfFile& files, const RanEvent& event) {
    std::vector<CudaSite*> found;
    if (const auto file = files.find(event.file); file != files.end())
        std::copy_if(file->second.begin(), file->second.end(), std::back_inserter(found),
                     [&](const CudaSite* site) {
                         return site->first_line <= event.line && event.line <= site->last_line;
                     });
    return found;
}

// Whether the event is of this site, if several stand in one line.
bool is_of(const RanEvent& event, const CudaSite& site) {
    return site.recorded || site.symbol == event.op || site.symbol.starts_with("cuda");
}

}  // namespace

void add_record(CudaScan& scan, std::span<const RanEvent> events, bool redirected) {
    scan.has_record = true;
    SitesOfFile files;
    for (CudaSite& site : scan.sites) {
        site.ran = redirected && site.recorded ? Ran::no : Ran::unknown;
        files[site.file].push_back(&site);
    }
    for (const RanEvent& event : events) {
        auto sites = sites_at(files, event);
        const auto others = std::partition(sites.begin(), sites.end(),
                                           [&](const CudaSite* s) { return is_of(event, *s); });
        const bool refused = event.kind == "refusal";
        if (others == sites.begin()) {
            scan.found_by_running.push_back(event);
        } else {
            sites.erase(others, sites.end());
        }
        for (CudaSite* site : sites) {
            site->count += event.count;
            if (site->ran != Ran::refused) site->ran = refused ? Ran::refused : Ran::yes;
        }
    }
    std::stable_sort(scan.found_by_running.begin(), scan.found_by_running.end(),
                     [](const RanEvent& a, const RanEvent& b) { return a.count > b.count; });
}

}  // namespace compat::analysis
