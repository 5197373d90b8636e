// JUnit XML of writers whose totals count other things (golden/writers): files of the tools, the
// states that these tools printed of the same runs, and totals that agree by each writer's rules.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>

#include "parsers/import/importers.h"
#include "parsers/text.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/expectations/judge.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::Dialect;
using parsers::ModuleRecord;
using parsers::State;
using parsers::testing::golden_bytes;

std::vector<ModuleRecord> writer_parts(std::string_view bytes, std::string_view name = "file.xml") {
    return parsers::testing::imported_parts(Dialect::junit_xml, name, bytes).parts;
}

std::vector<std::string> writer_mismatches(std::string_view bytes) {
    std::vector<std::string> all;
    for (const ModuleRecord& part : writer_parts(bytes))
        for (const Mismatch& m : account(part).mismatches) all.push_back(m.text());
    return all;
}

std::vector<std::string> writer_files() {
    std::vector<std::string> all;
    for (const auto& path : parsers::testing::golden_paths("writers", ".xml"))
        all.push_back(path.stem().string());
    return all;
}

class JunitWriters : public ::testing::TestWithParam<std::string> {
  protected:
    std::string xml() const { return golden_bytes("writers/" + GetParam() + ".xml"); }
};

TEST_P(JunitWriters, StatesAreThoseThatTheToolPrinted) {
    std::multiset<std::string> wanted, ours;
    const std::string states = golden_bytes("writers/" + GetParam() + ".states");
    for (parsers::Lines lines(states); lines.next();) wanted.emplace(lines.line());
    for (const ModuleRecord& part : writer_parts(xml(), GetParam() + ".xml"))
        for (const CaseRecord& c : part.cases)
            ours.insert(fmt::format("{} {}", name_of(c.state), c.id));
    EXPECT_EQ(ours, wanted);
}

TEST_P(JunitWriters, TotalsAgree) { EXPECT_THAT(writer_mismatches(xml()), ::testing::IsEmpty()); }

// Totals far above the tests are noticed, where they count tests.
TEST_P(JunitWriters, ATotalThatIsTooHighIsNoticed) {
    static const RE2 kAssertionsOrDeclared("catch2.*|doctest.*|mocha-junit.*");
    for (const char* word : {"tests", "failures"}) {
        if (word == std::string("tests") && RE2::FullMatch(GetParam(), kAssertionsOrDeclared))
            continue;
        std::string bytes = xml();
        const RE2 attribute(fmt::format(R"((<testsuite\b[^>]*? {}=")\d+)", word));
        ASSERT_TRUE(RE2::Replace(&bytes, attribute, "\\1999")) << word;
        EXPECT_THAT(writer_mismatches(bytes), ::testing::Not(::testing::IsEmpty())) << word;
    }
}

INSTANTIATE_TEST_SUITE_P(Real, JunitWriters, ::testing::ValuesIn(writer_files()), [](const auto& row) {
    std::string name = row.param;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
});

const CaseRecord& first_case(const std::vector<ModuleRecord>& parts) {
    return parts.at(0).cases.at(0);
}

// In the file of any writer, unless it counts the failure.
TEST(JunitAllowedFailure, IsNoFailure) {
    for (const auto& [failures, skipped] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
        const std::string bytes = fmt::format(
            "<testsuite name='a' tests='1' failures='{}' skipped='{}' errors='0'><testcase "
            "name='x'><skipped message='known'/><failure message='1 != 2'/></testcase></testsuite>",
            failures, skipped);
        const auto parts = writer_parts(bytes);
        EXPECT_EQ(first_case(parts).state, failures > 0 ? State::failed : State::xfailed);
        if (failures == 0) EXPECT_EQ(first_case(parts).reason, "known: 1 != 2");
        EXPECT_THAT(writer_mismatches(bytes), ::testing::IsEmpty());
    }
    EXPECT_THAT(writer_mismatches("<testsuite name='a' tests='1' failures='2'><testcase name='x'>"
                           "<skipped/><failure/></testcase></testsuite>"),
                ::testing::SizeIs(1));
}

// One of the two is counted, and nothing tells which. The totals may be those of a suite around it,
// and a suite in it states its own.
TEST(JunitAllowedFailure, IsAFailureWhereTheTotalsCountMoreThanTheOthers) {
    const std::string_view tests =
        "<testcase name='x'><skipped/><failure/></testcase><testcase name='y'><failure/>"
        "</testcase></testsuite>";
    for (const auto& [begin, state] :
         {std::pair{"<testsuite name='a' tests='2' failures='1'>", State::xfailed},
          {"<testsuite name='a' tests='2' failures='2'>", State::failed},
          {"<testsuite name='a' tests='2' errors='2'>", State::failed},
          {"<testsuite name='a' tests='3' failures='2'><testsuite name='b' failures='1'><testcase "
           "name='z'><failure/></testcase></testsuite>",
           State::xfailed},
          {"<testsuites tests='2' failures='2'><testsuite name='a'>", State::failed}}) {
        const bool root = std::string_view(begin).starts_with("<testsuites");
        const auto parts =
            writer_parts(fmt::format("{}{}{}", begin, tests, root ? "</testsuites>" : ""));
        for (const CaseRecord& c : parts.at(0).cases)
            if (c.id == "a::x") EXPECT_EQ(c.state, state) << begin;
    }
}

// Of which Boost.Test's own words tell, and its totals do not count it.
TEST(JunitAllowedFailure, OfBoostHasItsWords) {
    constexpr std::string_view kWords =
        "ASSERTION FAILURE:\n- file   : a.cc\n- line   : 1\n- message: check no has failed\n";
    for (const auto& [failures, words, state] :
         {std::tuple{0, kWords, State::xfailed},
          {1, kWords, State::failed},
          {0, std::string_view("a.cc(1): check no has failed"), State::failed}})
        EXPECT_EQ(first_case(writer_parts(fmt::format(
                                 "<testsuite tests='1' skipped='0' errors='0' failures='{}' id='0' "
                                 "name='M' time='1'><testcase assertions='1' name='x'><failure "
                                 "message='failure' type='assertion error'>{}</failure></testcase>"
                                 "</testsuite>",
                                 failures, words)))
                      .state,
                  state)
            << failures << words;
}

// As Pester 5 writes it, with the attributes of Boost.Test's suites and tests.
TEST(JunitAllowedFailure, IsNoneOfPesters) {
    const std::string bytes =
        "<testsuites name='Pester' tests='2' errors='0' failures='1' disabled='0' time='0.2'>"
        "<testsuite name='/src/a.Tests.ps1' tests='2' errors='0' failures='1' hostname='host' "
        "id='0' skipped='0' disabled='0' package='/src/a.Tests.ps1' time='0.1'>"
        "<testcase name='a.works' status='Passed' classname='/src/a.Tests.ps1' assertions='0' "
        "time='0.01'/><testcase name='a.breaks' status='Failed' classname='/src/a.Tests.ps1' "
        "assertions='0' time='0.01'><failure message='Expected 2, but got 1.'>at 1 | Should -Be 2"
        "</failure></testcase></testsuite></testsuites>";
    EXPECT_EQ(writer_parts(bytes).at(0).cases.at(1).state, State::failed);
    EXPECT_THAT(writer_mismatches(bytes), ::testing::IsEmpty());
}

// A tear-down may break after a skip.
TEST(JunitAllowedFailure, IsNoErrorOfAnUnknownWriter) {
    const std::string bytes =
        "<testsuite name='a' tests='1'><testcase name='x'><skipped/><error message='late'/>"
        "</testcase></testsuite>";
    EXPECT_EQ(first_case(writer_parts(bytes)).state, State::errored);
}

// A class that is named as node's tests are.
TEST(JunitWriters, AClassOfNodesNameIsHeldToItsTotals) {
    EXPECT_THAT(writer_mismatches("<testsuites><testsuite name='a' tests='2'><testcase name='x' "
                                  "classname='test'/></testsuite></testsuites>"),
                ::testing::SizeIs(1));
}

TEST(JunitWriters, NodesSuitesStateNoMoreThanTheyShow) {
    const auto mismatches = [](int tests, int failures) {
        return writer_mismatches(fmt::format(
            "<testsuites><testcase name='top' time='0.1' classname='test'/><testsuite name='a' "
            "time='0.1' disabled='0' errors='0' tests='{}' failures='{}' skipped='0' "
            "hostname='host'><testcase name='x' time='0.1' classname='test'/></testsuite>"
            "</testsuites>",
            tests, failures));
    };
    EXPECT_THAT(mismatches(1, 0), ::testing::IsEmpty());
    EXPECT_THAT(mismatches(5, 0), ::testing::Contains(::testing::StartsWith("tests")));
    EXPECT_THAT(mismatches(1, 3), ::testing::Contains(::testing::StartsWith("failures")));
}

// `mocha --grep one`: its `tests` is what the suite declares.
TEST(JunitWriters, TestsThatMochaDidNotRunAreNoted) {
    const auto part = [](int tests) {
        return writer_parts(fmt::format("<testsuites name='Mocha Tests' tests='{0}' failures='0'>"
                                        "<testsuite name='s' tests='{0}' failures='0'><testcase "
                                        "name='s one' classname='one'/></testsuite></testsuites>",
                                        tests))
            .at(0);
    };
    EXPECT_THAT(part(1).diagnostics, ::testing::IsEmpty());
    ASSERT_EQ(part(3).diagnostics.size(), 1u);
    EXPECT_THAT(part(3).diagnostics[0].message,
                ::testing::StartsWith("its suites declare 3 tests and 1 are in it"));
}

// absltest and nose2 run unittest's tests: an unexpected success fails them, too.
TEST(JunitWriters, AnUnexpectedSuccessIsUnexpectedWhereTheToolFails) {
    for (const char* file : {"absl-2.5", "nose2-0.16"})
        for (const ModuleRecord& part : writer_parts(golden_bytes(fmt::format("writers/{}.xml", file))))
            EXPECT_TRUE(is_unexpected(State::xpassed, part.framework)) << file;
}

// Nothing but a file that could not be loaded.
TEST(JunitUnloaded, IsARowOfItsOwnModule) {
    const std::string bytes =
        "<testsuites tests='0' errors='1'><testsuite name='src/a.test.js' tests='0' errors='1'>"
        "</testsuite></testsuites>";
    const auto parts = writer_parts(bytes);
    EXPECT_EQ(first_case(parts).id, "src/a.test.js::<module>");
    EXPECT_EQ(first_case(parts).state, State::errored);
    EXPECT_EQ(parts[0].outcome, parsers::ModuleOutcome::load_error);
    EXPECT_THAT(writer_mismatches(bytes), ::testing::IsEmpty());
}

TEST(JunitUnloaded, MayBeASuiteWithinAnother) {
    const auto file = [](std::string_view totals) {
        return fmt::format(
            "<testsuites {0}><testsuite name='all' {0}><testsuite name='good' tests='1' "
            "errors='0'><testcase name='x' classname='good'/></testsuite><testsuite name='bad' "
            "tests='0' errors='1'><system-err>cannot load bad</system-err></testsuite></testsuite>"
            "</testsuites>",
            totals);
    };
    for (const char* totals : {"", "tests='1' errors='1'"}) {
        const auto parts = writer_parts(file(totals));
        ASSERT_EQ(parts.at(0).cases.size(), 2u) << totals;
        EXPECT_EQ(parts[0].cases[1].id, "bad::<module>");
        EXPECT_EQ(parts[0].cases[1].state, State::errored);
        EXPECT_EQ(parts[0].cases[1].failure->traceback, "cannot load bad");
        EXPECT_THAT(writer_mismatches(file(totals)), ::testing::IsEmpty());
    }
    // The outer one's error is that of the inner one.
    EXPECT_EQ(writer_parts("<testsuite name='all' tests='0' errors='1'><testsuite name='bad' "
                           "tests='0' errors='1'/></testsuite>")
                  .at(0)
                  .cases.size(),
              1u);
}

}  // namespace
}  // namespace compat::analysis
