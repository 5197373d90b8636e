#include "runner/analysis/agreement.h"

#include <fmt/format.h>

#include "runner/analysis/comparison.h"

namespace compat::analysis {

std::string compared_id(const std::string& id, std::int64_t tests) {
    return tests == 1 ? id : fmt::format("{} ({})", id, tests);
}

std::vector<Difference> differences(const parsers::ModuleRecord& before,
                                    const parsers::ModuleRecord& after) {
    Comparison compared(2);
    for (const parsers::CaseRecord& row : before.cases)
        compared.add(0, compared_id(row.id, row.tests), row.state);
    for (const parsers::CaseRecord& row : after.cases)
        compared.add(1, compared_id(row.id, row.tests), row.state);
    std::vector<Difference> list;
    for (const size_t test : compared.tests_that_differ())
        list.push_back({std::string(compared.test(test).id), compared.state(test, 0),
                        compared.state(test, 1)});
    return list;
}

}  // namespace compat::analysis
