#include "runner/display/scan/scan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "runner/base/text.h"
#include "runner/display/columns.h"

namespace compat::display {

namespace {

using analysis::CudaScan;
using analysis::CudaSite;

constexpr size_t kScanRows = 10;
constexpr size_t kWidestPlace = 40;   // longer ones move their row to the right
constexpr size_t kWidestSource = 60;  // longer ones are cut

std::string place_of(const CudaSite& site) {
    return printable(fmt::format("{}:{}", site.file, site.line));
}

std::string padded(const std::string& text, size_t columns) {
    return text + std::string(columns - std::min(columns, columns_of(text)), ' ');
}

std::string instead_of(const CudaSite& site) {
    if (!site.write.empty()) return site.write;
    return fmt::format("(from torch {} on)", site.torch);
}

// "ran 24 ", in a column; empty without a record.
std::string ran_column(const CudaScan& scan, const CudaSite& site) {
    if (!scan.has_record) return {};
    switch (site.ran) {
        case analysis::Ran::yes:
            return fmt::format("{:<11}", fmt::format("ran {}", site.count));
        case analysis::Ran::refused:
            return fmt::format("{:<11}", "refused");
        case analysis::Ran::no:
            return fmt::format("{:<11}", "not run");
        case analysis::Ran::unknown:
            break;
    }
    return fmt::format("{:<11}", "-");
}

std::string rows_of(const CudaScan& scan, const std::vector<const CudaSite*>& sites, size_t shown) {
    std::map<std::string, long> in_category;
    for (const CudaSite* site : sites) ++in_category[site->category];
    size_t place = 0, source = 0;
    for (size_t i = 0; i < shown; ++i) {
        place = std::max(place, std::min(kWidestPlace, columns_of(place_of(*sites[i]))));
        source = std::max(source, std::min(kWidestSource, columns_of(printable(sites[i]->source))));
    }
    std::string text, category;
    for (size_t i = 0; i < shown; ++i) {
        const CudaSite& site = *sites[i];
        if (site.category != category) {
            category = site.category;
            text += fmt::format("  {}: {}\n", category, in_category[category]);
        }
        text += fmt::format(
            "    {}{}  {}  -> {}\n", ran_column(scan, site), padded(place_of(site), place),
            padded(cut_to(printable(site.source), source), source), printable(instead_of(site)));
    }
    // The categories of rows that are not shown keep their counts.
    std::set<std::string> named;
    for (size_t i = 0; i < shown; ++i) named.insert(sites[i]->category);
    for (size_t i = shown; i < sites.size(); ++i)
        if (named.insert(sites[i]->category).second)
            text += fmt::format("  {}: {}\n", sites[i]->category, in_category[sites[i]->category]);
    if (shown < sites.size())
        text += fmt::format("    … and {} more; --all prints them\n", sites.size() - shown);
    return text;
}

std::string unread_lines(const CudaScan& scan, bool all) {
    if (scan.unread.empty()) return {};
    std::string text = fmt::format("not scanned by Python {}: {}\n", scan.python,
                                   counted(static_cast<long>(scan.unread.size()), "file"));
    const size_t shown = all ? scan.unread.size() : std::min(scan.unread.size(), kScanRows);
    for (size_t i = 0; i < shown; ++i) {
        const auto& file = scan.unread[i];
        text +=
            fmt::format("    {}{}: {}\n", printable(file.file),
                        file.line > 0 ? fmt::format(":{}", file.line) : "", printable(file.reason));
    }
    if (shown < scan.unread.size())
        text += fmt::format("    … and {} more; --all prints them\n", scan.unread.size() - shown);
    return text;
}

std::string found_lines(const CudaScan& scan, bool all) {
    const auto& found = scan.found_by_running;
    if (found.empty()) return {};
    std::string text = fmt::format("found by running: {} (no device is named there)\n",
                                   counted(static_cast<long>(found.size()), "request"));
    const size_t shown = all ? found.size() : std::min(found.size(), kScanRows);
    for (size_t i = 0; i < shown; ++i) {
        const auto& event = found[i];
        text += fmt::format(
            "{:>7}  {}:{}  {}{}\n", event.count, printable(event.file), event.line,
            printable(event.op),
            event.from.empty() ? "" : printable(fmt::format("  {} -> {}", event.from, event.to)));
    }
    if (shown < found.size())
        text += fmt::format("    … and {} more; --all prints them\n", found.size() - shown);
    return text + "\n";
}

std::string record_line(const CudaScan& scan) {
    std::map<analysis::Ran, long> counts;
    for (const CudaSite& site : scan.sites) ++counts[site.ran];
    return fmt::format(
        "record: {} ran, {} refused, {} not run, {} unknown (-: it leaves no event)\n",
        counted(counts[analysis::Ran::yes], "site"), counts[analysis::Ran::refused],
        counts[analysis::Ran::no], counts[analysis::Ran::unknown]);
}

}  // namespace

std::string scan_report(const CudaScan& scan, bool all) {
    std::string text;
    for (const analysis::ScanGroup& group : analysis::groups_of(scan)) {
        const auto& sites = group.sites;
        text += fmt::format("{}: {} ({})\n", group.action->title,
                            counted(static_cast<long>(sites.size()), "site"), group.action->what);
        text += rows_of(scan, sites, all ? sites.size() : std::min(sites.size(), kScanRows)) + "\n";
    }
    text += found_lines(scan, all);
    if (const auto unread = unread_lines(scan, all); !unread.empty()) text += unread + "\n";
    std::set<std::string> files;
    long to_change = 0, suppressed = 0;
    for (const CudaSite& site : scan.sites) {
        files.insert(site.file);
        to_change += analysis::is_to_change(scan, site);
        suppressed += site.suppressed;
    }
    text += fmt::format("{}: {} in {}, {} to change", counted(scan.files, "Python file"),
                        counted(static_cast<long>(scan.sites.size()), "site"),
                        counted(static_cast<long>(files.size()), "file"), to_change);
    if (suppressed > 0) text += fmt::format(", {} suppressed by # noqa: {}", suppressed, scan.code);
    if (!scan.unread.empty()) text += fmt::format(", {} not scanned", scan.unread.size());
    text += "\n";
    return scan.has_record ? text + record_line(scan) : text;
}

std::string describe_scan(const CudaScan& scan) {
    std::set<std::string> files;
    for (const CudaSite& site : scan.sites) files.insert(site.file);
    if (scan.sites.empty()) return {};
    std::string groups;
    std::array<std::int64_t, analysis::kRanNames.size()> ran{};
    long places = 0;
    for (const analysis::ScanGroup& group : analysis::groups_of(scan)) {
        groups += fmt::format("{}{} {}", groups.empty() ? "" : ", ", group.sites.size(),
                              group.action->title);
        places += static_cast<long>(group.sites.size());
        for (size_t i = 0; i < ran.size(); ++i) ran[i] += group.by_ran[i];
    }
    const auto of = [&](analysis::Ran what) { return ran[static_cast<size_t>(what)]; };
    std::string text = fmt::format("{} in {} {} CUDA", counted(places, "place"),
                                   counted(static_cast<long>(files.size()), "file"),
                                   places == 1 ? "names" : "name");
    if (!groups.empty()) text += ": " + groups;
    if (scan.has_record)
        text += fmt::format("; {} ran, {}{} did not, {} unknown", of(analysis::Ran::yes),
                            of(analysis::Ran::refused) > 0
                                ? fmt::format("{} refused, ", of(analysis::Ran::refused))
                                : "",
                            of(analysis::Ran::no), of(analysis::Ran::unknown));
    return text;
}

}  // namespace compat::display
