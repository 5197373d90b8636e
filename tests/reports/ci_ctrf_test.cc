#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "reports/ci/ctrf.h"
#include "tests/reports/ci_sample.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class CtrfTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    json render() {
        model = samples::model(stored, folder.root() / "run");
        return json::parse(samples::rendered(model, ctrf_report));
    }
    static json test(const json& report, const std::string& name) {
        for (const json& test : report.at("results").at("tests"))
            if (test.at("name") == name) return test;
        return {};
    }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::hostile_run(root);
    samples::Model model;
};

TEST_F(CtrfTest, TheSummaryIsTheSumOfTheTestsAndOfTheModel) {
    for (const char* framework : {"unittest", "pytest"}) {
        stored.info.framework = framework;
        const json report = render();
        std::map<std::string, std::int64_t> statuses{
            {"passed", 0}, {"failed", 0}, {"skipped", 0}, {"pending", 0}, {"other", 0}};
        std::map<std::string, std::int64_t> states;
        for (const json& test : report.at("results").at("tests")) {
            ++statuses[test.at("status")];
            ++states[test.at("rawStatus")];
        }
        const json& summary = report.at("results").at("summary");
        EXPECT_EQ(summary.at("tests"), model.totals.collected);
        for (const auto& [status, count] : statuses) EXPECT_EQ(summary.at(status), count) << status;
        for (const auto& [state, count] : states)
            EXPECT_EQ(model.totals.count(*parsers::state_of(state)), count) << state;
        EXPECT_EQ(summary.at("flaky"), model.totals.flaky);
        EXPECT_EQ(test(report, "test_xp").at("status"),
                  std::string(framework) == "unittest" ? "failed" : "passed");
    }
}

TEST_F(CtrfTest, ATestHasItsStateMarksAttemptsAndPlace) {
    const json report = render();
    const json failed = test(report, "test_f");
    EXPECT_EQ(failed.at("testId"), "tests/ops/test_a.py::T::test_f");
    EXPECT_EQ(failed.at("suite"), (json{"tests/ops/test_a.py", "T"}));
    EXPECT_EQ(failed.at("filePath"), "tests/ops/test_a.py");
    EXPECT_EQ(failed.at("line"), 3);
    EXPECT_EQ(failed.at("duration"), 1500);
    EXPECT_EQ(failed.at("extra").at("type"), "AssertionError");
    EXPECT_THAT(failed.at("extra").at("reproduce").at("runner"), HasSubstr("runner suites/alpha"));
    EXPECT_EQ(test(report, "test_p").at("extra").at("marks"), json{"redirected"});
    EXPECT_EQ(test(report, "test_n").at("status"), "pending");
    const json flaky = test(report, "test_c");
    EXPECT_EQ(flaky.at("status"), "passed");
    EXPECT_EQ(flaky.at("flaky"), true);
    EXPECT_EQ(flaky.at("retries"), 1);
    EXPECT_EQ(flaky.at("retryAttempts").at(0).at("status"), "failed");
    EXPECT_EQ(flaky.at("retryAttempts").at(0).at("extra").at("rawStatus"), "crashed");
}

TEST_F(CtrfTest, HostileTextStaysJson) {
    const json report = render();
    const std::string message = test(report, "test_f").at("message");
    EXPECT_THAT(message, HasSubstr("]]> red "));
    EXPECT_THAT(message, HasSubstr("\u202E<b>"));
    EXPECT_THAT(message, Not(HasSubstr("\xED\xA0\x80")));
    EXPECT_GT(test(report, "test_f").at("trace").get<std::string>().size(), 1u << 20);
}

TEST_F(CtrfTest, ARunWithoutTestsIsWhole) {
    stored.modules.clear();
    EXPECT_TRUE(render().at("results").at("tests").empty());
}

}  // namespace
}  // namespace compat::reports
