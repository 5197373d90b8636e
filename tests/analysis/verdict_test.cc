#include "runner/analysis/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace compat::analysis {
namespace {

using parsers::ModuleOutcome;
using parsers::State;

parsers::ModuleRecord record_of(std::vector<State> states, std::string framework = "unittest",
                                ModuleOutcome outcome = ModuleOutcome::completed) {
    parsers::ModuleRecord record;
    record.framework = std::move(framework);
    record.outcome = outcome;
    for (const State state : states) {
        parsers::CaseRecord test;
        test.state = state;
        record.cases.push_back(test);
    }
    return record;
}

TEST(Verdict, EachStateGivesItsExitCode) {
    struct StateCode {
        State state;
        const char* framework;
        ExitCode code;
    };
    const std::vector<StateCode> table{
        {State::passed, "unittest", ExitCode::ok},
        {State::skipped, "unittest", ExitCode::ok},
        {State::xfailed, "pytest", ExitCode::ok},
        {State::xpassed, "pytest", ExitCode::ok},
        {State::xpassed, "unittest", ExitCode::unexpected_results},
        {State::failed, "unittest", ExitCode::unexpected_results},
        {State::errored, "pytest", ExitCode::unexpected_results},
        {State::crashed, "pytest", ExitCode::unexpected_results},
        {State::timed_out, "pytest", ExitCode::unexpected_results},
        {State::not_run, "pytest", ExitCode::unexpected_results},
    };
    for (const auto& row : table) {
        RunFacts facts;
        add(facts, record_of({State::passed, row.state}, row.framework));
        EXPECT_EQ(exit_code(facts), row.code)
            << parsers::name_of(row.state) << " in " << row.framework;
    }
}

TEST(Verdict, TheHighestPriorityWins) {
    RunFacts facts;
    EXPECT_EQ(exit_code(facts), ExitCode::nothing_selected);
    add(facts, record_of({State::failed}));
    EXPECT_EQ(exit_code(facts), ExitCode::unexpected_results);
    facts.unaccounted = true;
    EXPECT_EQ(exit_code(facts), ExitCode::unaccounted);
    add(facts, record_of({}, "unittest", ModuleOutcome::spawn_failed));
    EXPECT_EQ(exit_code(facts), ExitCode::infrastructure);
    facts.interrupted = true;
    EXPECT_EQ(exit_code(facts), ExitCode::interrupted);
}

TEST(Verdict, AModuleThatDiedAfterItsTestsIsUnexpected) {
    RunFacts facts;
    add(facts, record_of({State::passed}, "unittest", ModuleOutcome::crashed));
    EXPECT_EQ(exit_code(facts), ExitCode::unexpected_results);
}

}  // namespace
}  // namespace compat::analysis
