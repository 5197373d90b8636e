#include "reports/fitting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace compat::reports {

namespace {

std::string opening(const Section& section) {
    return fmt::format("\n## {}\n\n{}", section.title, section.intro);
}

// Either a section's items or their details: what can be dropped from its end.
struct Droppable {
    size_t section;
    bool details;
    int usefulness;
    size_t kept;   // from the front, of those that have any
    size_t total;  // items with a text, or with a detail
};

}  // namespace

void Document::add(Section section, Usefulness usefulness) {
    if (section.items.empty() && !section.items_name.empty()) return;
    sections_.push_back({std::move(section), usefulness});
}

std::string Document::fitted(std::optional<size_t> max_bytes) const {
    std::vector<Droppable> droppable;
    size_t size = head.size();
    for (size_t i = 0; i < sections_.size(); ++i) {
        const auto& [section, usefulness] = sections_[i];
        const auto with_detail = static_cast<size_t>(
            std::count_if(section.items.begin(), section.items.end(),
                          [](const Item& item) { return !item.detail.empty(); }));
        droppable.push_back(
            {i, false, usefulness.items, section.items.size(), section.items.size()});
        droppable.push_back({i, true, usefulness.details, with_detail, with_detail});
        size += opening(section).size();
        for (const Item& item : section.items) size += item.text.size() + item.detail.size();
    }

    std::vector<Droppable*> order;
    for (Droppable& d : droppable)
        if (d.total > 0) order.push_back(&d);
    std::stable_sort(order.begin(), order.end(),
                     [](auto* a, auto* b) { return a->usefulness < b->usefulness; });

    const auto note = [&] {
        std::vector<std::string> parts;
        for (const Droppable* d : order)
            if (d->kept < d->total) {
                const Section& section = sections_[d->section].section;
                parts.push_back(
                    fmt::format("{} of {} {}", d->total - d->kept, d->total,
                                d->details ? section.details_name : section.items_name));
            }
        if (parts.empty()) return std::string{};
        return fmt::format("\n---\n\nLeft out to stay within {} bytes: {}.\n", *max_bytes,
                           fmt::join(parts, "; "));
    };
    const auto drop = [&](Droppable& d) {
        const Section& section = sections_[d.section].section;
        for (size_t i = section.items.size(); i > 0 && size + note().size() > *max_bytes; --i) {
            const Item& item = section.items[i - 1];
            if (d.details && item.detail.empty()) continue;
            size -= d.details ? item.detail.size() : item.text.size();
            --d.kept;
        }
        if (!d.details && d.kept == 0) size -= opening(section).size();
    };
    if (max_bytes)
        for (Droppable* d : order) drop(*d);

    std::string page = head;
    for (size_t i = 0; i < sections_.size(); ++i) {
        const Section& section = sections_[i].section;
        const Droppable& items = droppable[2 * i];
        size_t details = droppable[2 * i + 1].kept;
        if (items.total > 0 && items.kept == 0) continue;
        page += opening(section);
        for (size_t k = 0; k < items.kept; ++k) {
            page += section.items[k].text;
            if (section.items[k].detail.empty() || details == 0) continue;
            page += section.items[k].detail;
            --details;
        }
    }
    return page + note();
}

}  // namespace compat::reports
