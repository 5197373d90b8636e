// Tests the first steps: which failures one change removes, and their order.
#include "reports/overview/first_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/diagnosis/diagnose.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::string_literals;

ClusterView cluster(const std::string& signature, const std::string& cause, const std::string& rule,
                    const std::string& key_line, std::int64_t tests) {
    ClusterView c;
    c.signature = signature;
    c.cause = cause;
    c.rule = rule;
    c.key_line = key_line;
    c.example = "a.py::test_" + signature;
    c.tests = tests;
    return c;
}

TEST(FirstSteps, EveryCauseHasItsAdvice) {
    for (const auto& row : parsers::kCauses) {
        ReportModel model;
        model.run.device = "cpu";
        model.clusters = {cluster("s", std::string(row.name), "", "E: x", 1)};
        for (const auto& simulated : {std::optional<std::string>(), std::optional("mps"s)}) {
            model.run.simulated = simulated;
            const auto steps = first_steps(model);
            ASSERT_THAT(steps, SizeIs(1)) << row.name;
            EXPECT_NE(steps[0].title, "") << row.name;
            EXPECT_NE(steps[0].advice, "") << row.name;
        }
        EXPECT_EQ(advice_for(*parsers::cause_of(row.name)).cause, *parsers::cause_of(row.name));
    }
}

TEST(FirstSteps, EachRuleOfTheSandboxIsOneStepThatNamesTheOption) {
    for (const parsers::Rule& rule : parsers::Rules::shipped().all()) {
        if (rule.isolation.empty()) continue;
        ReportModel model;
        model.run.device = "cpu";
        for (const char* line : {"E: x", "E: y"})
            model.clusters.push_back(
                cluster(line, std::string(name_of(rule.cause)), rule.id, line, 1));
        for (const auto& simulated : {std::optional<std::string>(), std::optional("cuda"s)}) {
            model.run.simulated = simulated;
            const auto steps = first_steps(model);
            ASSERT_THAT(steps, SizeIs(1)) << rule.id;
            EXPECT_EQ(steps[0].tests, 2) << rule.id;
            EXPECT_NE(steps[0].title, "E: x") << rule.id;
            EXPECT_THAT(steps[0].title, HasSubstr("sandbox")) << rule.id;
            EXPECT_THAT(steps[0].advice, HasSubstr("`--")) << rule.id;
        }
    }
}

TEST(FirstSteps, MergesWhatOneChangeRemoves) {
    ReportModel model;
    model.totals.modules = 4;
    model.totals.collected = 400;
    model.clusters = {cluster("h1", "hub", "hub", "OSError: no network", 30),
                      cluster("a1", "suite_assertion", "assertion", "AssertionError: 1 != 2", 20),
                      cluster("a2", "suite_assertion", "assertion", "AssertionError: 1 != 2", 15),
                      cluster("h2", "hub", "data-not-fetched", "URLError: unreachable", 10),
                      cluster("d1", "dependency", "missing-module", "ModuleNotFoundError: x", 3),
                      cluster("d2", "dependency", "missing-module", "ModuleNotFoundError: x", 2),
                      cluster("d3", "dependency", "missing-module", "ModuleNotFoundError: y", 1)};
    const auto steps = first_steps(model);
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const FirstStep& step : steps)
        found.emplace_back(step.signatures.empty() ? "" : step.signatures.front(), step.tests);
    // Two assertions with one text may have two reasons.
    EXPECT_THAT(found, ElementsAre(std::pair("h1", 40), std::pair("a1", 20), std::pair("a2", 15),
                                   std::pair("d1", 5), std::pair("d3", 1)));
    EXPECT_EQ(steps[0].example, "a.py::test_h1");
    const auto groups = failure_groups(model);
    ASSERT_THAT(groups, SizeIs(5));
    EXPECT_THAT(groups[0].clusters, ElementsAre(0u, 3u));
}

TEST(FirstSteps, AGapIsOneStepWithItsOwnAction) {
    ReportModel model;
    model.run.simulated = "mps";
    const GapKey key{"aten::linalg_eigh", GapKind::op_unsupported, "mps", true};
    model.clusters = {cluster("g1", "op_missing", "mps-operator", "NotImplementedError: a", 4),
                      cluster("g2", "op_missing", "could-not-run", "RuntimeError: b", 3),
                      cluster("g3", "op_missing", "mps-operator", "NotImplementedError: c", 2)};
    model.clusters[0].gap = model.clusters[1].gap = key;
    GapView gap;
    gap.key = key;
    gap.description = "MPS has no linalg_eigh";
    gap.action = "compute it on the CPU";
    model.gaps = {gap};
    const auto steps = first_steps(model);
    ASSERT_THAT(steps, SizeIs(2));
    EXPECT_EQ(steps[0].title, "MPS has no linalg_eigh");
    EXPECT_EQ(steps[0].advice, "compute it on the CPU");
    EXPECT_EQ(steps[0].tests, 7);
    EXPECT_EQ(steps[1].title, "NotImplementedError: c");
}

TEST(FirstSteps, AModuleThatCouldNotBeLoadedCountsAsItsTestsWould) {
    ReportModel model;
    model.totals.modules = 3;
    model.totals.collected = 61;  // 60 tests of two modules, and the row of the third
    model.clusters = {cluster("a", "suite_assertion", "", "AssertionError", 25),
                      cluster("m", "dependency", "missing-module", "ModuleNotFoundError: x", 1)};
    model.clusters[1].example = "c.py::<module>";
    model.load_failures = {{"ModuleNotFoundError: x", "ModuleNotFoundError", "c.py", "", 1}};
    const auto steps = first_steps(model);
    ASSERT_THAT(steps, SizeIs(2)) << "the module's row is not listed twice";
    EXPECT_EQ(steps[0].title, "ModuleNotFoundError: x");
    EXPECT_EQ(steps[0].modules, 1);
    EXPECT_EQ(steps[0].tests, 0);
    EXPECT_TRUE(steps[0].signatures.empty());
    EXPECT_THAT(steps[0].advice, HasSubstr("requirements"));
    EXPECT_EQ(steps[1].signatures.front(), "a");
}

TEST(FirstSteps, AreTenAtMost) {
    ReportModel model;
    for (int i = 0; i < 30; ++i)
        model.clusters.push_back(cluster("s" + std::to_string(i), "suite_error", "", "E", 100 - i));
    const auto steps = first_steps(model);
    ASSERT_THAT(steps, SizeIs(kFirstSteps));
    EXPECT_EQ(steps.back().signatures, std::vector<std::string>{"s9"});
    EXPECT_THAT(first_steps(ReportModel{}), SizeIs(0));
}

}  // namespace
}  // namespace compat::reports
