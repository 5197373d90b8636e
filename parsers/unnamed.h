// Tests that a file counts and does not name, as rows of their own, so that its sum is right. Not
// for tests that have a name anywhere in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "parsers/record.h"

namespace compat::parsers {

// So that sums of counts are none too great for a number.
inline constexpr std::int64_t kGreatestCount = 1'000'000'000'000;

class Unnamed {
  public:
    static constexpr std::int64_t kMost = 200'000;

    // All parts of one file share it. A few words can count any number of tests: rows past `left`
    // stay out, and the sum does not add up. Numbers go on from part to part, since nothing tells
    // that a later part ran the same tests.
    struct Room {
        std::int64_t left = kMost;
        std::unordered_map<std::string, std::int64_t> last_number;  // by path
    };

    // The record has all its named rows before the first `add`.
    Unnamed(ModuleRecord& record, Room& room) : record_(record), room_(room) {}

    // `count` more rows that are as `like`, with the ids "path::<unnamed 1>" and so on, without
    // those that tests have for a name. A count that is not positive adds none.
    void add(std::string_view path, std::int64_t count, const CaseRecord& like);

    // The same of tests that ended in a state; they had begun, unless they are not_run.
    void add(std::string_view path, std::int64_t count, State state, std::string reason = {}) {
        CaseRecord like;
        like.state = state;
        like.started = state != State::not_run;
        like.reason = std::move(reason);
        add(path, count, like);
    }

    // How many of `count` rows have room, which they take.
    [[nodiscard]] std::int64_t take_room(std::int64_t count);

    // How many had no room.
    [[nodiscard]] std::int64_t left_out() const { return left_out_; }

    // Says how many rows have no name; once, when all are there. `offset` is where the file counts.
    void tell(size_t offset) const;

  private:
    void keep_taken();

    ModuleRecord& record_;
    Room& room_;
    std::int64_t added_ = 0;
    std::int64_t left_out_ = 0;
    std::optional<std::unordered_set<std::string>> taken_;  // ids of named rows
};

// Moves the numbers of the record's unnamed rows behind `before`. Returns the last number; 0 if no
// row is unnamed.
std::int64_t number_unnamed_after(ModuleRecord& record, std::int64_t before);

}  // namespace compat::parsers
