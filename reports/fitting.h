// A page that can be made to fit: sections of items, of which the least useful go first. Knows
// nothing of what the sections say (markdown.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace compat::reports {

struct Item {
    std::string text{};
    std::string detail{};  // follows the text; goes before it where space is short
};

struct Section {
    std::string title{};
    std::string items_name{};  // in "12 of 40 <items_name>"; empty: the section has no items, only
                               // its intro
    std::string details_name{};  // of the details
    std::string intro{};         // before the items
    std::vector<Item> items{};
};

// The lowest number goes first. Details are less useful than the items they belong to.
struct Usefulness {
    int items = 0;
    int details = 0;
};

class Document {
  public:
    std::string head;

    // A section that can have items and has none is left out altogether.
    void add(Section section, Usefulness usefulness);

    // The page, with at most `max_bytes` where that is possible: items go from the end of the least
    // useful section, then from the next; a closing note says how many of each. What is not made of
    // items stays.
    [[nodiscard]] std::string fitted(std::optional<std::size_t> max_bytes) const;

  private:
    struct Placed {
        Section section;
        Usefulness usefulness;
    };
    std::vector<Placed> sections_;
};

}  // namespace compat::reports
