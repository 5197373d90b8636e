// CTRF as the reporters of several frameworks write it (golden/regenerate_ctrf.sh), against what
// the tests do that they tell of (golden/fixtures/ctrf). Our own: tests/reports/ci_ctrf_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::parsers::ctrf_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::imported_parts;
using testing::ImportedParts;
using ::testing::IsEmpty;

ImportedParts read(const std::string& bytes) {
    EXPECT_EQ(testing::broken_import_invariant(Dialect::ctrf, bytes), "");
    return imported_parts(Dialect::ctrf, "out/ctrf.json", bytes);
}

// The tests of the file and, with their failures, the attempts before.
struct Told {
    std::vector<std::string> tests, attempts;
};
Told told_by(const std::string& golden) {
    const std::string bytes = testing::golden_bytes("ctrf/" + golden);
    EXPECT_EQ(recognise(signs_in(bytes)), Dialect::ctrf);
    const ImportedParts all = read(bytes);
    EXPECT_THAT(all.diagnostics, IsEmpty());
    Told told;
    for (const ModuleRecord& part : all.parts) {
        EXPECT_TRUE(analysis::account(part).closed());
        for (const CaseRecord& c : part.cases) {
            const std::string name = c.id.substr(c.id.find("::") + 2);
            told.tests.push_back(fmt::format("{} {}", name, name_of(c.state)));
            for (const CaseRecord& attempt : c.earlier)
                told.attempts.push_back(
                    fmt::format("{} {}: {}", name, name_of(attempt.state), attempt.why()));
        }
    }
    return told;
}

TEST(Ctrf, OfJest) {
    const Told told = told_by("jest.json");
    EXPECT_THAT(told.tests, ElementsAre("outer::inner::passes passed", "outer::inner::fails failed",
                                        "outer::inner::is skipped skipped",
                                        "outer::inner::is to do skipped", "is flaky passed"));
    EXPECT_THAT(told.attempts, ElementsAre(HasSubstr("is flaky failed: it failed in an earlier")));
}

TEST(Ctrf, OfMocha) {
    EXPECT_THAT(told_by("mocha.json").tests,
                ElementsAre("outer passes passed", "outer fails failed", "outer is skipped skipped",
                            "outer is flaky passed",
                            "outer hooks \"before all\" hook for \"never runs\" failed"));
}

TEST(Ctrf, OfVitest) {
    EXPECT_THAT(told_by("vitest.json").tests,
                ElementsAre("outer::passes passed", "outer::fails failed",
                            "outer::is skipped skipped", "outer::is flaky passed"));
}

TEST(Ctrf, OfPlaywright) {
    const Told told = told_by("playwright.json");
    EXPECT_THAT(
        told.tests,
        ElementsAre("one::outer::passes passed", "one::outer::fails failed",
                    "one::outer::is skipped skipped", "one::outer::breaks as expected xfailed",
                    "one::outer::passes unexpectedly failed",
                    "one::outer::takes too long timed_out", "one::outer::is flaky passed"));
    EXPECT_THAT(told.attempts,
                ::testing::Contains(HasSubstr("is flaky failed: Error: expect(received)")));
}

TEST(Ctrf, OfPytest) {
    const Told told = told_by("pytest.json");
    EXPECT_THAT(told.tests,
                ElementsAre("test_flaky passed", "TestOuter::TestInner::test_fails failed",
                            "TestOuter::test_xfail xfailed", "test_setup errored",
                            "test_interrupted not_run"));
    EXPECT_THAT(told.attempts, ElementsAre("test_flaky failed: AssertionError: assert 1 == 2"));
    const ImportedParts all = read(testing::golden_bytes("ctrf/pytest.json"));
    EXPECT_EQ(all.parts.back().path, "test_reruns.py");
    EXPECT_EQ(all.parts.back().framework, "pytest");
    const CaseRecord& setup = all.parts.back().cases.at(3);
    EXPECT_EQ(setup.phase, Phase::setup);
    EXPECT_EQ(setup.failure->first_line(), "OSError: no device");
}

json document(const json& tests, const json& summary = nullptr) {
    return {{"results", {{"tool", {{"name", "x"}}}, {"summary", summary}, {"tests", tests}}}};
}

// As pytest-json-ctrf writes what pytest-xdist and pytest-forked say.
TEST(Ctrf, AProcessOfPytestThatDiedIsACrash) {
    const auto test = [](const std::string& text) {
        return json{{"name", "test_a.py::" + text.substr(0, 3)},
                    {"filePath", "test_a.py"},
                    {"status", "failed"},
                    {"rawStatus", "???_failed"},
                    {"message", text},
                    {"trace", text}};
    };
    const std::string worker = "worker 'gw0' crashed while running 'test_a.py::wor'";
    json file = document({test(worker),
                          test("/test_a.py:8: running the test CRASHED with signal 9 (SIGKILL)"),
                          test("AssertionError: worker 'gw0' crashed while running 'x'")});
    file["results"]["tool"]["name"] = "pytest";
    const ModuleRecord part = read(file.dump()).parts.at(0);
    EXPECT_EQ(part.cases.at(0).state, State::crashed);
    EXPECT_EQ(part.cases.at(0).why(), worker);
    EXPECT_EQ(part.cases.at(1).state, State::crashed);
    EXPECT_EQ(part.cases.at(1).why(), "running the test CRASHED with signal 9 (SIGKILL)");
    EXPECT_EQ(part.cases.at(2).state, State::failed);
}

TEST(Ctrf, ItsSummaryIsHeldAgainstItsTests) {
    const json tests{{{"name", "a"}, {"status", "passed"}}};
    const auto said = [&](const json& summary) {
        return read(document(tests, summary).dump()).diagnostics;
    };
    EXPECT_THAT(said({{"tests", 1}, {"passed", 1}, {"failed", 0}}), IsEmpty());
    const auto differ = said({{"tests", 2}, {"passed", 1}, {"failed", 1}});
    ASSERT_EQ(differ.size(), 2u);
    EXPECT_EQ(differ[0].message, "totals differ: tests: 2 by its summary, 1 by its tests");
    EXPECT_EQ(said(nullptr).at(0).message, "it states no totals that its tests could be held to");
}

// What is not told for sure must not pass.
TEST(Ctrf, AnUnknownStatusIsNoPass) {
    const ImportedParts all =
        read(document({{{"name", "a"}, {"status", "fine"}},
                       {{"name", "b"}, {"status", "other"}},
                       {{"name", "b"}, {"status", "passed"}, {"suite", {"s"}}},
                       7})
                 .dump());
    const ModuleRecord& part = all.parts.at(0);
    ASSERT_EQ(part.cases.size(), 3u);
    EXPECT_EQ(part.cases[0].id, "out/ctrf::a");
    EXPECT_EQ(part.cases[0].state, State::not_run);
    EXPECT_EQ(part.cases[1].state, State::not_run);
    EXPECT_EQ(part.cases[2].id, "s::b");
    EXPECT_FALSE(analysis::account(part).closed());
}

TEST(Ctrf, AFileThatIsCutOffSaysWhere) {
    const std::string whole = document({{{"name", "a"}, {"status", "passed"}}}).dump();
    const ImportedParts all = read(whole.substr(0, whole.size() - 3));
    EXPECT_THAT(all.parts, IsEmpty());
    EXPECT_EQ(all.diagnostics.at(0).offset, static_cast<std::int64_t>(whole.size() - 3));
    EXPECT_THAT(read("{\"results\": {\"tests\": 3}}").diagnostics.at(0).message,
                HasSubstr("no list of tests"));
}

}  // namespace
}  // namespace compat::parsers::ctrf_test
