// Tests that a file counts and does not name, as rows of their own, so that its sum is right. Not
// for tests that have a name anywhere in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "parsers/record.h"

namespace compat::parsers {

class Unnamed {
  public:
    // Of one part. What a file claims beyond that stays out, and the part's sum does not add up.
    static constexpr std::int64_t kMost = 200'000;

    explicit Unnamed(ModuleRecord& record) : record_(record) {}

    // `count` more rows that are as `like`, with the ids "path::<unnamed 1>" and so on. A count
    // that is not positive adds none.
    void add(std::string_view path, std::int64_t count, const CaseRecord& like);

    // Says how many rows have no name; once, when all are there. `offset` is where the file counts.
    void tell(size_t offset) const;

  private:
    ModuleRecord& record_;
    std::int64_t added_ = 0;
    std::int64_t left_out_ = 0;
    std::unordered_map<std::string, std::int64_t> last_number_;  // by path
};

}  // namespace compat::parsers
