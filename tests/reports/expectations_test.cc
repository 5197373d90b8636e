// A run with expectations has the same numbers in each format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "reports/ci/ctrf.h"
#include "reports/ci/github.h"
#include "reports/ci/junit.h"
#include "reports/ci/outcome.h"
#include "runner/analysis/verdict.h"
#include "tests/reports/ci_sample.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kModule = "tests/ops/test_a.py::T::";

class ExpectationsTest : public testing::Test {
  protected:
    void SetUp() override {
        samples::Run stored = samples::run(folder.root() / "src");
        std::vector<Expectation> entries;
        const auto expect = [&](std::string test, std::string state, std::string until = {}) {
            Expectation& entry = entries.emplace_back();
            entry.test = kModule + std::move(test);
            entry.expect = {std::move(state)};
            entry.reason = "known | `so`";
            entry.until = std::move(until);
        };
        expect("test_f", "failed");
        expect("test_c", "crashed");
        expect("test_p", "failed");
        expect("test_t", "timed_out", "2020-01-31");
        expect("test_nowhere", "failed");
        expect("test_xp", "xpassed");
        stored.info.expectations = analysis::to_stored(entries);
        stored.info.expectations_file = "/src/expectations.json";
        model = samples::model(stored, folder.root());
    }
    test::TempTree folder;
    samples::Model model;
};

TEST_F(ExpectationsTest, TheModelHasSumsAndNotes) {
    EXPECT_EQ(sum_of_states(model.expectations.expected), 3);
    EXPECT_EQ(model.expectations.entries, 6);
    std::vector<std::string> notes;
    for (const auto& note : model.expectations.notes)
        notes.push_back(fmt::format("{} {}", analysis::name_of(note.kind), note.test));
    EXPECT_EQ(notes, (std::vector<std::string>{fmt::format("stale {}test_p", kModule),
                                               fmt::format("expired {}test_t", kModule),
                                               fmt::format("unmatched {}test_nowhere", kModule)}));
}

TEST_F(ExpectationsTest, CiFormatsCountAlike) {
    const CiCounts counts = ci_counts_of(model);
    const auto junit = samples::rendered(
        model, [](const auto& m, Sink sink) { return junit_report(m, std::move(sink)); });
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit.c_str()));
    std::int64_t failures = 0, errors = 0, skipped = 0;
    for (const auto suite : document.child("testsuites").children("testsuite"))
        for (const auto test : suite.children("testcase")) {
            failures += !test.child("failure").empty();
            errors += !test.child("error").empty();
            skipped += !test.child("skipped").empty();
        }
    EXPECT_EQ(failures, counts.failed);
    EXPECT_EQ(errors, counts.errored);
    EXPECT_EQ(skipped, counts.skipped + counts.not_run);
    EXPECT_EQ(document.child("testsuites").attribute("failures").as_llong(), failures);
    EXPECT_EQ(document.child("testsuites").attribute("errors").as_llong(), errors);

    const auto ctrf = nlohmann::json::parse(samples::rendered(
        model, [](const auto& m, Sink sink) { return ctrf_report(m, std::move(sink)); }));
    std::map<std::string, std::int64_t> statuses;
    for (const auto& test : ctrf["results"]["tests"]) ++statuses[test["status"]];
    EXPECT_EQ(statuses["failed"], counts.failed + counts.errored);
    EXPECT_EQ(statuses["skipped"], counts.skipped);
    EXPECT_EQ(ctrf["results"]["summary"]["failed"], statuses["failed"]);
    EXPECT_EQ(ctrf["results"]["summary"]["skipped"], statuses["skipped"]);
}

TEST_F(ExpectationsTest, PeopleSeeOnlyWhatIsUnexpected) {
    const std::string page = samples::to_markdown(model);
    EXPECT_THAT(page, HasSubstr("## Failures as expected"));
    EXPECT_THAT(page, HasSubstr("## Passes that were expected to fail"));
    EXPECT_THAT(page, HasSubstr("expired on 2020-01-31: no longer applies"));
    EXPECT_THAT(page, Not(HasSubstr("### failed: [`tests/ops/test_a.py::T::test_f`]")));
    const std::string annotations = samples::rendered(
        model, [](const auto& m, Sink sink) { return github_annotations(m, {}, std::move(sink)); });
    EXPECT_THAT(annotations, HasSubstr("test_p"));
    EXPECT_THAT(annotations, HasSubstr("test_t"));
    EXPECT_THAT(annotations, Not(HasSubstr("test_f%3A")));
    EXPECT_THAT(annotations, Not(HasSubstr("test_xp%3A")));
}

std::vector<std::string> examples_of(const std::vector<FirstStep>& steps) {
    std::vector<std::string> examples;
    for (const FirstStep& step : steps) examples.push_back(step.example);
    return examples;
}

// The text of a section of the page.
std::string section(const std::string& page, const std::string& title) {
    const size_t begin = page.find("\n## " + title + "\n");
    return begin == std::string::npos ? ""
                                      : page.substr(begin, page.find("\n## ", begin + 4) - begin);
}

TEST_F(ExpectationsTest, FailuresAsExpectedAreNoWork) {
    const std::string test_f = std::string(kModule) + "test_f",
                      test_e = std::string(kModule) + "test_e";
    const samples::Model without =
        samples::model(samples::run(folder.root() / "src"), folder.root());
    EXPECT_THAT(examples_of(without.first_steps), testing::IsSupersetOf({test_f, test_e}));
    EXPECT_THAT(section(samples::to_markdown(without), "Failures by cause"), HasSubstr(test_f));
    EXPECT_THAT(examples_of(model.first_steps), testing::Contains(test_e));
    EXPECT_THAT(examples_of(model.first_steps), Not(testing::Contains(test_f)));
    const std::string causes = section(samples::to_markdown(model), "Failures by cause");
    EXPECT_THAT(causes, HasSubstr(test_e));
    EXPECT_THAT(causes, Not(HasSubstr(test_f)));
    // The clusters stay complete.
    EXPECT_EQ(model.clusters.size(), without.clusters.size());
    for (const ClusterView& cluster : model.clusters)
        EXPECT_EQ(cluster.expected, cluster.example == test_e ? 0 : cluster.tests)
            << cluster.key_line;
}

// The exit code, CI and the page's headline ask one question: does it make the run fail?
TEST_F(ExpectationsTest, WhereAllIsExpectedNothingFails) {
    samples::Run stored = samples::run(folder.root() / "src");
    stored.modules.resize(1);
    std::vector<Expectation> entries;
    analysis::RunFacts facts;
    for (const auto& test : stored.modules[0].attempts[0].record.cases) {
        Expectation& entry = entries.emplace_back();
        entry.test = test.id;
        entry.expect = {std::string(name_of(test.state))};
    }
    stored.info.expectations = analysis::to_stored(entries);
    analysis::add(facts, stored.modules[0].attempts[0].record,
                  analysis::expectations_of(stored.info));
    EXPECT_FALSE(facts.unexpected);
    const samples::Model all = samples::model(stored, folder.root());
    const CiCounts counts = ci_counts_of(all);
    EXPECT_EQ(counts.failed + counts.errored + counts.not_run, 0);
    EXPECT_THAT(samples::to_markdown(all), HasSubstr("nothing needs attention"));
    EXPECT_TRUE(all.first_steps.empty());
    EXPECT_EQ(section(samples::to_markdown(all), "What to do first"), "");
    EXPECT_EQ(section(samples::to_markdown(all), "Failures by cause"), "");
    EXPECT_EQ(samples::rendered(all,
                                [](const auto& m, Sink sink) {
                                    return github_annotations(m, {}, std::move(sink));
                                }),
              "");
}

}  // namespace
}  // namespace compat::reports
