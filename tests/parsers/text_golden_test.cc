// The text parsers against what the frameworks' own objects say of the same modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsers/framework_summary.h"
#include "parsers/import/importers.h"
#include "parsers/outcomes.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/oracle_model.h"

namespace compat::parsers::text_golden_test {
namespace {

using nlohmann::json;
using testing::expect_model;
using testing::Golden;

class UnittestText : public ::testing::TestWithParam<Golden> {};

TEST_P(UnittestText, IsWhatUnittestSays) {
    const Golden& golden = GetParam();
    ModuleRecord record =
        read_attempt_log(Framework::unittest, golden.read(".log"), golden.end(), golden.module);
    // Tests that a fixture skipped are counted, and no line names them.
    std::erase_if(record.cases, is_unnamed);
    if (!golden.has(".model.json")) {
        // It died, in a test or before any: each way it has a row that says so.
        EXPECT_EQ(record.outcome, ModuleOutcome::crashed);
        EXPECT_THAT(record.cases, ::testing::Contains(::testing::Field(
                                      &CaseRecord::state, ::testing::Eq(State::crashed))));
        return;
    }
    const json model = json::parse(golden.read(".model.json"));
    expect_model(record, model);
    ASSERT_TRUE(record.closing);
    EXPECT_EQ(record.closing->ran, model["closing"]["ran"]);
    json counts = {{"ran", *record.closing->ran},
                   {"failures", 0},
                   {"errors", 0},
                   {"skipped", 0},
                   {"expected failures", 0},
                   {"unexpected successes", 0}};
    for (const auto& [word, count] : record.closing->counts) counts[word] = count;
    EXPECT_EQ(counts, model["closing"]);
}

INSTANTIATE_TEST_SUITE_P(Real, UnittestText, ::testing::ValuesIn(testing::goldens("unittest")),
                         testing::golden_name);

class PytestText : public ::testing::TestWithParam<Golden> {};

TEST_P(PytestText, IsWhatPytestSays) {
    const Golden& golden = GetParam();
    ModuleRecord record =
        read_attempt_log(Framework::pytest, golden.read(".log"), golden.end(), golden.module);
    EXPECT_EQ(record.framework_version, golden.version);
    EXPECT_FALSE(record.python_version.empty());
    if (!golden.has(".model.json")) {
        EXPECT_EQ(record.outcome, ModuleOutcome::crashed);
        EXPECT_FALSE(record.closing);
        return;
    }
    const json model = json::parse(golden.read(".model.json"));
    // Sub-tests that are skipped are counted, and no line names them.
    record.collected -= std::erase_if(record.cases, is_unnamed);
    expect_model(record, model);
    const auto pseudo = std::count_if(record.cases.begin(), record.cases.end(),
                                      [](const CaseRecord& c) { return c.pseudo; });
    EXPECT_EQ(record.collected - pseudo, model["collected"]);
    EXPECT_TRUE(record.closing);
}

INSTANTIATE_TEST_SUITE_P(Real, PytestText, ::testing::ValuesIn(testing::goldens("pytest")),
                         testing::golden_name);

}  // namespace
}  // namespace compat::parsers::text_golden_test
