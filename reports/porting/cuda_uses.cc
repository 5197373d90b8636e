#include "reports/porting/cuda_uses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/markdown/text.h"
#include "runner/base/files/fs.h"
#include "runner/base/text.h"

namespace compat::reports {

namespace {

constexpr size_t kLongestSource = 100;
constexpr size_t kCategoriesShown = 5;

CudaUseView view_of(const analysis::CudaSite& site, const std::string& root, LinkResolver& links) {
    return {fmt::format("{}:{}", site.file, site.line),
            links.resolve({(fs::path(root) / site.file).string(), site.line}),
            site.symbol,
            site.source,
            site.write,
            site.ran,
            site.count};
}

CudaUseGroup group_view(const analysis::ScanGroup& group, const std::string& root,
                        LinkResolver& links) {
    CudaUseGroup view{group.action->name,
                      group.action->title,
                      group.action->what,
                      group.action->changes,
                      static_cast<std::int64_t>(group.sites.size()),
                      group.by_ran,
                      {},
                      {}};
    std::map<std::string, std::int64_t> categories;
    for (const analysis::CudaSite* site : group.sites) ++categories[site->category];
    view.categories.assign(categories.begin(), categories.end());
    std::stable_sort(view.categories.begin(), view.categories.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (!view.changes) return view;
    std::vector<const analysis::CudaSite*> sites = group.sites;
    std::stable_sort(sites.begin(), sites.end(),
                     [](const auto* a, const auto* b) { return a->ran > b->ran; });
    sites.resize(std::min(sites.size(), kFirstUses));
    for (const analysis::CudaSite* site : sites) view.first.push_back(view_of(*site, root, links));
    return view;
}

std::string format_categories(const CudaUseGroup& group) {
    std::vector<std::string> words;
    for (size_t i = 0; i < std::min(kCategoriesShown, group.categories.size()); ++i)
        words.push_back(
            fmt::format("{} {}", group.categories[i].first, group.categories[i].second));
    if (group.categories.size() > kCategoriesShown) words.emplace_back("…");
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

CudaUses cuda_uses_of(const analysis::CudaScan& scan, std::string root, LinkResolver& links) {
    CudaUses uses;
    uses.files = scan.files;
    uses.unread = static_cast<std::int64_t>(scan.unread.size());
    uses.has_record = scan.has_record;
    std::set<std::string> files;
    for (const analysis::CudaSite& site : scan.sites) {
        uses.suppressed += site.suppressed;
        if (site.suppressed) continue;
        files.insert(site.file);
        ++uses.places;
        uses.to_change += analysis::is_to_change(scan, site);
    }
    uses.files_with_places = static_cast<std::int64_t>(files.size());
    for (const analysis::ScanGroup& group : analysis::groups_of(scan))
        uses.groups.push_back(group_view(group, root, links));
    uses.root = std::move(root);
    return uses;
}

std::string describe_cuda_uses(const CudaUses& uses) {
    if (!uses.unknown.empty()) return "its code was not scanned: " + uses.unknown;
    std::string text = fmt::format(
        "{} in {} of {} {} CUDA, {} to change", counted(static_cast<long>(uses.places), "place"),
        uses.files_with_places, counted(static_cast<long>(uses.files), "Python file"),
        uses.places == 1 ? "names" : "name", uses.to_change);
    if (uses.suppressed > 0) text += fmt::format(", {} suppressed by a comment", uses.suppressed);
    if (uses.unread > 0)
        text +=
            fmt::format("; {} could not be read", counted(static_cast<long>(uses.unread), "file"));
    return text;
}

std::string describe_whether_ran(const CudaUseView& use) {
    switch (use.ran) {
        case analysis::Ran::yes:
            return fmt::format("ran {}", use.count);
        case analysis::Ran::refused:
            return "refused";
        case analysis::Ran::no:
            return "did not run";
        case analysis::Ran::unknown:
            break;
    }
    return {};
}

std::string cuda_uses_markdown(const CudaUses& uses) {
    if (!uses.unknown.empty())
        return fmt::format("\n## What it uses CUDA for\n\nIts code was not scanned: {}.\n",
                           code(uses.unknown));
    if (uses.root.empty()) return {};
    std::string text =
        fmt::format("\n## What it uses CUDA for\n\n{}. {} lists all.{}\n", describe_cuda_uses(uses),
                    code("runner scan " + uses.root),
                    uses.has_record ? " *Ran* and *refused*: in the run of CUDA code sent to "
                                      "MPS; some uses leave no event there, such as streams "
                                      "and `is_available()`."
                                    : " No run says which of them ran.");
    if (uses.groups.empty()) return text;
    text += uses.has_record ? "\n| what to do | places | ran | refused | did not run | used for |\n"
                              "|---|---:|---:|---:|---:|---|\n"
                            : "\n| what to do | places | used for |\n|---|---:|---|\n";
    for (const CudaUseGroup& group : uses.groups) {
        using enum analysis::Ran;
        text +=
            (uses.has_record ? row(group.title, group.places, group.count(yes),
                                   group.count(refused), group.count(no), format_categories(group))
                             : row(group.title, group.places, format_categories(group))) +
            "\n";
    }
    std::string rows;
    for (const CudaUseGroup& group : uses.groups)
        for (const CudaUseView& use : group.first)
            rows +=
                row(group.title, linked_code(use.place, use.url), code(use.source, kLongestSource),
                    use.write.empty() ? "" : code(use.write), describe_whether_ran(use)) +
                "\n";
    if (!rows.empty()) text += "\n| | where | code | instead | |\n|---|---|---|---|---|\n" + rows;
    return text;
}

}  // namespace compat::reports
