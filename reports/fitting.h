// A page that is made to fit while it is filled: sections of items, of which the least useful go
// first. Holds no more of them than the page can have. Knows nothing of what the sections say
// (markdown.cc).
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "reports/renderer.h"

namespace compat::reports {

struct Item {
    std::string text{};
    std::string detail{};  // follows the text; goes before it where space is short
};

// The lowest number goes first. Details are less useful than the items they belong to.
struct Usefulness {
    int items = 0;
    int details = 0;
};

class Section {
  public:
    std::string intro{};  // before the items

  private:
    friend class Document;
    struct Part {  // items or their details: what was added, and what is kept from the front
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

    // Sections stand on the page in the order in which they are opened. Without a name for its
    // items a section has none, only its intro; one that can have items and has none is left out
    // altogether.
    Section& open(std::string title, std::string items_name = {}, Usefulness usefulness = {},
                  std::string details_name = {});
    void add(Section& section, Item item);

    // The page, with at most `max_bytes` where that is possible: items go from the end of the least
    // useful section, then from the next; a closing note says how many of each. What is not made of
    // items stays.
    void write(const Sink& sink);

  private:
    struct Droppable {
        Section* section;
        Section::Part* part;
    };
    [[nodiscard]] std::vector<Droppable> least_useful_first();
    [[nodiscard]] std::string note();
    bool keep(Section::Part& part, std::size_t item, std::string text);
    void drop_last(Section::Part& part);

    std::size_t max_bytes_;
    std::size_t kept_bytes_ = 0;  // of items and details
    std::deque<Section> sections_;
};

}  // namespace compat::reports
