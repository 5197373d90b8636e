#include "runner/analysis/agreement.h"

#include "runner/analysis/comparison.h"

namespace compat::analysis {

std::vector<Difference> differences(const parsers::ModuleRecord& before,
                                    const parsers::ModuleRecord& after) {
    Comparison compared(2);
    for (const parsers::CaseRecord& test : before.cases) compared.add(0, test.id, test.state);
    for (const parsers::CaseRecord& test : after.cases) compared.add(1, test.id, test.state);
    std::vector<Difference> list;
    for (const size_t test : compared.tests_that_differ())
        list.push_back({std::string(compared.test(test).id), compared.state(test, 0),
                        compared.state(test, 1)});
    return list;
}

}  // namespace compat::analysis
