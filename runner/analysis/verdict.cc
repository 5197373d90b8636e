#include "runner/analysis/verdict.h"

#include <vector>

#include "runner/base/framework.h"

namespace compat::analysis {

using parsers::ModuleOutcome;
using parsers::State;

bool is_unexpected(State state, std::string_view framework) {
    switch (state) {
        case State::failed:
        case State::errored:
        case State::crashed:
        case State::timed_out:
        case State::not_run:
            return true;
        case State::xpassed:
            return traits_of(framework) && traits_of(framework)->fails_on_xpassed;
        case State::passed:
        case State::skipped:
        case State::xfailed:
            return false;
    }
    return true;
}

void add(RunFacts& facts, const parsers::ModuleRecord& record) {
    if (record.outcome == ModuleOutcome::spawn_failed) facts.infrastructure = true;
    if (record.outcome != ModuleOutcome::completed && record.outcome != ModuleOutcome::no_tests)
        facts.unexpected = true;
    for (const auto& test : record.cases) {
        facts.unexpected = facts.unexpected || is_unexpected(test.state, record.framework);
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
