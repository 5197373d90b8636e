#include "reports/markdown/fitting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace compat::reports {

Section& Document::open(std::string title, std::string items_name, Usefulness usefulness,
                        std::string details_name) {
    Section& section = sections_.emplace_back();
    section.title_ = std::move(title);
    section.items_.name = std::move(items_name);
    section.items_.usefulness = usefulness.items;
    section.details_.name = std::move(details_name);
    section.details_.usefulness = usefulness.details;
    return section;
}

// "12 modules": what a folded section holds.
std::string Document::opening(const Section& section) {
    std::string text = fmt::format("\n## {}\n\n", section.title_);
    if (section.folded)
        text += section.items_.name.empty()
                    ? std::string("<details><summary>Details</summary>\n\n")
                    : fmt::format("<details><summary>{}: {}</summary>\n\n", section.items_.name,
                                  section.items_.total);
    return text + section.intro;
}

std::string_view Document::closing(const Section& section) {
    return section.folded ? "\n</details>\n" : "";
}

bool Document::keep(Section::Part& part, size_t item, std::string text) {
    // After a dropped item, no later one is kept.
    if (part.kept.size() != part.total++) return false;
    kept_bytes_ += text.size();
    part.kept.emplace_back(item, std::move(text));
    return true;
}

void Document::drop_last(Section::Part& part) {
    kept_bytes_ -= part.kept.back().second.size();
    part.kept.pop_back();
}

void Document::add(Section& section, Item item) {
    const size_t number = section.items_.total;
    const bool kept = keep(section.items_, number, std::move(item.text));
    if (item.detail) {
        // After a dropped detail, no later one is kept.
        if (kept && section.details_.kept.size() == section.details_.total)
            keep(section.details_, number, item.detail());
        else
            ++section.details_.total;
    }
    if (kept_bytes_ <= max_bytes_) return;
    for (const Droppable& least : least_useful_first())
        while (kept_bytes_ > max_bytes_ && !least.part->kept.empty()) drop_last(*least.part);
}

std::vector<Document::Droppable> Document::least_useful_first() {
    std::vector<Droppable> order;
    for (Section& section : sections_)
        for (auto* part : {&section.items_, &section.details_})
            if (part->total > 0) order.push_back({&section, part});
    std::stable_sort(order.begin(), order.end(), [](const Droppable& a, const Droppable& b) {
        return a.part->usefulness < b.part->usefulness;
    });
    return order;
}

std::string Document::note() {
    std::vector<std::string> parts;
    for (const auto& [section, part] : least_useful_first())
        if (part->kept.size() < part->total)
            parts.push_back(fmt::format("{} of {} {}", part->total - part->kept.size(), part->total,
                                        part->name));
    if (parts.empty()) return {};
    return fmt::format("\n---\n\nLeft out to stay within {} bytes: {}.\n", max_bytes_,
                       fmt::join(parts, "; "));
}

void Document::write(const Sink& sink) {
    const auto shown = [](const Section& section) {
        return section.items_.name.empty() || !section.items_.kept.empty();
    };
    size_t fixed = head.size();
    const auto frame = [](const Section& section) {
        return opening(section).size() + closing(section).size();
    };
    for (const Section& section : sections_)
        if (shown(section)) fixed += frame(section);
    for (const auto& [section, part] : least_useful_first()) {
        const bool was_shown = shown(*section);
        while (!part->kept.empty() && fixed + kept_bytes_ + note().size() > max_bytes_)
            drop_last(*part);
        if (was_shown && !shown(*section)) fixed -= frame(*section);
    }

    sink(head);
    for (const Section& section : sections_) {
        if (!shown(section)) continue;
        sink(opening(section));
        auto detail = section.details_.kept.begin();
        for (const auto& [number, text] : section.items_.kept) {
            sink(text);
            if (detail != section.details_.kept.end() && detail->first == number)
                sink((detail++)->second);
        }
        sink(closing(section));
    }
    sink(note());
}

}  // namespace compat::reports
