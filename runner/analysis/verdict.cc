#include "runner/analysis/verdict.h"

#include <vector>

namespace compat::analysis {

using parsers::ModuleOutcome;

void add(RunFacts& facts, const parsers::ModuleRecord& record, const Expectations& expectations) {
    if (record.outcome == ModuleOutcome::spawn_failed) facts.infrastructure = true;
    if (record.outcome != ModuleOutcome::completed && record.outcome != ModuleOutcome::no_tests &&
        !expectations.explains_outcome(record))
        facts.unexpected = true;
    for (const auto& test : record.cases) {
        facts.unexpected =
            facts.unexpected || expectations.judge(test, record.framework).fit != Fit::as_expected;
        ++facts.collected;
    }
}

ExitCode exit_code(const RunFacts& facts) {
    std::vector<ExitCode> codes;
    if (facts.interrupted) codes.push_back(ExitCode::interrupted);
    if (facts.infrastructure) codes.push_back(ExitCode::infrastructure);
    if (facts.unaccounted) codes.push_back(ExitCode::unaccounted);
    if (facts.usage) codes.push_back(ExitCode::usage);
    if (facts.unexpected) codes.push_back(ExitCode::unexpected_results);
    if (facts.collected == 0 && !facts.nothing_to_do) codes.push_back(ExitCode::nothing_selected);
    return worst(codes);
}

}  // namespace compat::analysis
