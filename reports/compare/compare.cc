#include "reports/compare/compare.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace compat::reports {

bool CompareView::fails() const {
    return std::any_of(columns.begin(), columns.end(), [&](const Comparison& column) {
        return std::any_of(fail_on.begin(), fail_on.end(),
                           [&](ChangeClass c) { return column.count(c) > 0; });
    });
}

void group_tests(Comparison& comparison) {
    std::sort(comparison.tests.begin(), comparison.tests.end(),
              [](const ChangedTest& a, const ChangedTest& b) { return a.id < b.id; });
    using Key = std::tuple<ChangeClass, std::optional<parsers::Cause>, std::string>;
    std::map<Key, ChangeGroup> by_cause;
    for (std::size_t i = 0; i < comparison.tests.size(); ++i) {
        const ChangedTest& test = comparison.tests[i];
        const std::string& what = test.signature.empty() ? test.why : test.signature;
        ChangeGroup& group = by_cause[{test.change, test.cause, what}];
        if (group.tests.empty())
            group = {test.change,
                     test.why.empty() ? std::string(row_of(test.change).means) : test.why,
                     test.cause,
                     test.signature,
                     {}};
        group.tests.push_back(i);
    }
    comparison.groups.clear();
    for (auto& [key, group] : by_cause) comparison.groups.push_back(std::move(group));
    std::stable_sort(comparison.groups.begin(), comparison.groups.end(),
                     [](const ChangeGroup& a, const ChangeGroup& b) {
                         return std::tuple(a.change, b.tests.size()) <
                                std::tuple(b.change, a.tests.size());
                     });
    for (std::size_t i = 0; i < comparison.groups.size(); ++i)
        for (const std::size_t test : comparison.groups[i].tests) comparison.tests[test].group = i;
}

}  // namespace compat::reports
