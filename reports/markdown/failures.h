// The failures of a run as Markdown: one entry for what one change removes, with one traceback, one
// command and a short list of tests. Keeps no more than it shows. Not for what follows from them
// (overview/first_steps.h) nor for the page (markdown.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reports/markdown/fitting.h"
#include "reports/model.h"
#include "reports/overview/first_steps.h"

namespace compat::reports {

inline constexpr std::size_t kTestsOfFailure = 100;       // listed under one entry
inline constexpr std::size_t kFailuresWithDetails = 500;  // entries with traceback and tests

class FailureEntries {
  public:
    // `model` outlives it.
    explicit FailureEntries(const ReportModel& model);

    // A test that needs attention, and does not fail as expected.
    void add(const CaseView& test);
    // Once, after the last test; those with the most unexpected failures first.
    [[nodiscard]] std::vector<Item> items();

  private:
    struct Entry {
        std::int64_t tests = 0;
        std::string example;  // of `silent_`; as the next three Markdown
        std::string command;  // of its example
        std::string traceback;
        std::vector<std::string> listed;
    };
    void add_to(Entry& entry, const CaseView& test, const FailureView* failure, bool is_example,
                std::string line);
    [[nodiscard]] std::string heading(const FailureGroup& group) const;

    const ReportModel& model_;
    std::vector<FailureGroup> groups_;
    std::vector<Entry> entries_;                                      // by group
    std::unordered_map<std::string_view, std::size_t> by_signature_;  // group
    // Tests without a text of an error, by state and reason.
    std::map<std::pair<std::string_view, std::string>, Entry> silent_;
};

}  // namespace compat::reports
