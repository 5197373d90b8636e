// What was said of a test of pytest's, and which test the heading of a section speaks of. Not for
// what stands in the section (failure.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/pytest/line.h"
#include "parsers/record.h"

namespace compat::parsers {

// The outcomes that its lines gave.
struct PytestSaid {
    std::optional<State> call;
    bool errored = false;                // its set-up or tear-down broke
    bool excused = false;                // its tear-down broke, as was expected
    std::optional<PytestStatus> soft;    // right behind what it printed: "epoch 1PASSED"
    std::optional<PytestStatus> unsure;  // behind a blank: of its name, its output, or its own

    [[nodiscard]] bool any() const { return call || errored; }
    void add(State state);
};

struct PytestOwner {
    enum class Kind { unknown, test, subtest, module };
    Kind kind = Kind::unknown;
    size_t test = 0;
    Phase phase = Phase::call;
    std::string name;   // of the test or module in the heading
    std::string label;  // subtest
};

// "A::test_x[p::q]" as a section's heading has it: "A.test_x[p::q]".
[[nodiscard]] std::string section_heading_of(std::string_view tail);

class PytestHeadings {
  public:
    explicit PytestHeadings(const CaseTable& cases);
    void add(std::string_view name, size_t test);

    // Each failure of a test has one section: of several tests with the heading it is of the next
    // that broke there.
    [[nodiscard]] PytestOwner owner_of(std::string_view heading,
                                       const std::vector<PytestSaid>& said);
    // The last test with the name in a heading.
    [[nodiscard]] std::optional<size_t> find(std::string_view name) const;

  private:
    struct Headed {
        std::vector<size_t> cases;
        size_t next_failed = 0;
        size_t next_errored = 0;
    };
    std::unordered_map<std::string, Headed> by_heading_;
};

}  // namespace compat::parsers
