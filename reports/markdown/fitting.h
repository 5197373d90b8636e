// A Markdown page that stays within a size while it is filled: items of the least useful section
// are dropped first. Keeps no more items than fit. Not for content (markdown.cc, porting/pages.cc).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/renderer.h"

namespace compat::reports {

struct Item {
    std::string text{};
    // Renders what follows the text and is dropped first. Called within Document::add if it is
    // kept.
    std::function<std::string()> detail{};
};

// The lowest number is dropped first. Details are less useful than their items.
struct Usefulness {
    int items = 0;
    int details = 0;
};

class Section {
  public:
    std::string intro{};  // before the items
    bool folded = false;  // under its title, opened by a click

  private:
    friend class Document;
    struct Part {            // items or details; the first of them are kept
        std::string name{};  // in "12 of 40 <name>"
        int usefulness = 0;
        std::size_t total = 0;
        std::vector<std::pair<std::size_t, std::string>> kept{};  // number of its item
    };
    std::string title_{};
    Part items_{};
    Part details_{};
};

class Document {
  public:
    explicit Document(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    std::string head;

    // Sections appear in the order in which they are opened. A section without `items_name` has
    // only its intro. A section with `items_name` is left out if it has no items.
    Section& open(std::string title, std::string items_name = {}, Usefulness usefulness = {},
                  std::string details_name = {});
    void add(Section& section, Item item);

    // Writes at most `max_bytes` if the fixed parts fit: drops items from the end of the least
    // useful section, then of the next. A note at the end counts them.
    void write(const Sink& sink);

  private:
    struct Droppable {
        Section* section;
        Section::Part* part;
    };
    static std::string opening(const Section& section);
    static std::string_view closing(const Section& section);
    [[nodiscard]] std::vector<Droppable> least_useful_first();
    [[nodiscard]] std::string note();
    bool keep(Section::Part& part, std::size_t item, std::string text);
    void drop_last(Section::Part& part);

    std::size_t max_bytes_;
    std::size_t kept_bytes_ = 0;  // of items and details
    std::deque<Section> sections_;
};

}  // namespace compat::reports
