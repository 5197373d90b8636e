#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "parsers/import/fields.h"
#include "parsers/import/importers.h"
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
    EXPECT_THAT(failed.at("retryAttempts").at(0).at("trace"), HasSubstr("]]> red "));
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

// Its import has the ids, states, attempts, sub-tests and failures of the run that it is of.
TEST_F(CtrfTest, IsReadBack) {
    std::set<parsers::State> states;
    for (const char* framework : {"unittest", "pytest"}) {
        stored.info.framework = framework;
        // The second attempt passes and crashes.
        parsers::CaseRecord& again = stored.modules[0].attempts.back().record.cases[0];
        again.state = states.empty() ? parsers::State::passed : parsers::State::crashed;
        const std::string bytes = render().dump();
        EXPECT_EQ(parsers::recognise(parsers::signs_in(bytes)), parsers::Dialect::ctrf);
        std::map<std::string, parsers::CaseRecord> read;
        const auto said = parsers::read_result_file(parsers::Dialect::ctrf, {"ctrf.json", bytes},
                                                    [&](parsers::ModuleRecord part) {
                                                        EXPECT_EQ(part.framework, framework);
                                                        for (parsers::CaseRecord& c : part.cases)
                                                            read.emplace(c.id, std::move(c));
                                                    });
        for (const parsers::Diagnostic& diagnostic : said)
            EXPECT_THAT(diagnostic.message, HasSubstr("its counts do not add up"));
        size_t tests = 0;
        for (const ModuleView& module : model.modules)
            for (const CaseView& test : module.cases) {
                ++tests;
                const auto it = read.find(parsers::tidy_id(test.id));
                ASSERT_NE(it, read.end()) << test.id;
                const parsers::CaseRecord& c = it->second;
                states.insert(test.state);
                EXPECT_EQ(c.state, test.state) << test.id;
                EXPECT_EQ(c.pseudo, test.pseudo) << test.id;
                EXPECT_EQ(c.tests, test.tests) << test.id;
                EXPECT_EQ(c.location.line, test.line) << test.id;
                EXPECT_EQ(c.earlier.size() + 1, std::max<size_t>(test.attempts.size(), 1))
                    << test.id;
                if (test.failure) {
                    EXPECT_EQ(c.failure->type, test.failure->type) << test.id;
                }
                ASSERT_EQ(c.subcases.size(), test.subtests.size()) << test.id;
                for (size_t i = 0; i < c.subcases.size(); ++i) {
                    EXPECT_EQ(test.id + " " + c.subcases[i].label, test.subtests[i].id);
                    EXPECT_EQ(c.subcases[i].state, test.subtests[i].state);
                }
            }
        EXPECT_EQ(read.size(), tests);
    }
    EXPECT_EQ(states.size(), parsers::kStateNames.size());
}

}  // namespace
}  // namespace compat::reports
