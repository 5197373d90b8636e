#include "runner/analysis/scan/cuda_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace compat::analysis {

namespace {

constexpr int kCudaScanFormat = 2;

std::string text_or_empty(const nlohmann::json& object, const char* key) {
    return object.at(key).is_string() ? object[key].get<std::string>() : "";
}

CudaSite site_of(const nlohmann::json& json) {
    CudaSite site;
    site.file = json.at("file");
    site.line = json.at("line");
    site.column = json.at("column");
    site.first_line = json.at("span").at(0);
    site.last_line = json["span"].at(1);
    site.symbol = json.at("symbol");
    site.category = json.at("category");
    site.action = json.at("action");
    site.source = json.at("source");
    site.write = json.at("write");
    site.torch = text_or_empty(json, "torch");
    site.fix = text_or_empty(json, "fix");
    site.fix_torch = text_or_empty(json, "fix_torch");
    site.recorded = json.at("recorded");
    site.guarded = json.at("guarded");
    site.suppressed = json.at("suppressed");
    return site;
}

// "2.13.0+cpu": {2, 13}.
std::pair<int, int> release_of(std::string_view version) {
    std::pair<int, int> release{};
    const char* const end = version.data() + version.size();
    const auto major = std::from_chars(version.data(), end, release.first);
    if (major.ptr != end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, release.second);
    return release;
}

}  // namespace

Expected<CudaScan> parse_cuda_scan(std::string_view output) {
    try {
        const auto json = nlohmann::json::parse(output);
        if (json.at("format") != kCudaScanFormat)
            return fail(ErrorKind::environment,
                        "the scan is of a format that this runner does not know");
        CudaScan scan;
        scan.python = json.at("python");
        scan.code = json.at("code");
        scan.files = json.at("files");
        for (const auto& action : json.at("actions"))
            scan.actions.push_back(
                {action.at("name"), action.at("title"), action.at("what"), action.at("changes")});
        scan.categories = json.at("categories").get<std::vector<std::string>>();
        for (const auto& file : json.at("unread"))
            scan.unread.push_back({file.at("file"), file.at("line"), file.at("reason")});
        for (const auto& site : json.at("sites")) scan.sites.push_back(site_of(site));
        return scan;
    } catch (const nlohmann::json::exception& error) {
        return fail(
            ErrorKind::environment,
            fmt::format("the scan of Python files printed something else: {}", error.what()));
    }
}

bool has_version(std::string_view version, std::string_view since) {
    return release_of(version) >= release_of(since);
}

void limit_to_torch(CudaScan& scan, std::string_view version) {
    scan.torch = version;
    for (CudaSite& site : scan.sites) {
        if (!site.torch.empty() && !has_version(version, site.torch)) site.write.clear();
        if (site.fix.empty() || has_version(version, site.fix_torch)) continue;
        site.fix.clear();
        site.action = "review";
    }
}

const ScanAction& action_of(const CudaScan& scan, const CudaSite& site) {
    const auto found =
        std::find_if(scan.actions.begin(), scan.actions.end(),
                     [&](const ScanAction& action) { return action.name == site.action; });
    return found == scan.actions.end() ? scan.actions.back() : *found;
}

std::vector<ScanGroup> groups_of(const CudaScan& scan) {
    std::map<std::string, std::size_t> rank;
    for (const std::string& category : scan.categories) rank.emplace(category, rank.size());
    std::vector<ScanGroup> groups;
    for (const ScanAction& action : scan.actions) {
        ScanGroup group{&action, {}, {}};
        for (const CudaSite& site : scan.sites)
            if (!site.suppressed && site.action == action.name) {
                group.sites.push_back(&site);
                ++group.by_ran[static_cast<std::size_t>(site.ran)];
            }
        std::stable_sort(group.sites.begin(), group.sites.end(),
                         [&](const CudaSite* a, const CudaSite* b) {
                             return std::pair(rank[a->category], b->ran) <
                                    std::pair(rank[b->category], a->ran);
                         });
        if (!group.sites.empty()) groups.push_back(std::move(group));
    }
    return groups;
}

bool is_to_change(const CudaScan& scan, const CudaSite& site) {
    return !site.suppressed && action_of(scan, site).changes;
}

}  // namespace compat::analysis
