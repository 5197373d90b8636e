// Compares the totals of JUnit XML files with their tests, by the rules of each writer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "parsers/import/importers.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::analysis {
namespace {

using parsers::Dialect;
using parsers::ModuleRecord;
using parsers::testing::golden_bytes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsers::testing::ImportedParts read(std::string_view bytes) {
    return parsers::testing::imported_parts(Dialect::junit_xml, "file.xml", bytes);
}

std::vector<std::string> mismatches(std::string_view bytes) {
    std::vector<std::string> all;
    for (const ModuleRecord& part : read(bytes).parts)
        for (const Mismatch& m : account(part).mismatches) all.push_back(m.text());
    return all;
}

// All files written by real tools.
std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& path : parsers::testing::golden_paths("junit-", ".xml"))
        all.push_back(path.string());
    return all;
}

class JunitTotals : public ::testing::TestWithParam<std::string> {};

TEST_P(JunitTotals, AddUp) {
    const std::string bytes = golden_bytes(GetParam());
    EXPECT_THAT(mismatches(bytes), IsEmpty());
    for (const ModuleRecord& part : read(bytes).parts) {
        EXPECT_TRUE(part.closing);
        EXPECT_TRUE(part.finished);
    }
}

// Any count that is too high is a mismatch. pytest counts passed sub-tests among its tests, so one
// test more is a diagnostic, and less than either way of counting tear-downs gives a mismatch.
TEST_P(JunitTotals, AChangedTotalIsNoticed) {
    const std::string bytes = golden_bytes(GetParam());
    for (const char* word : {"tests", "failures", "errors", "skipped"}) {
        const RE2 attribute(fmt::format(" {}=\"(\\d+)\"", word));
        std::int64_t count = 0;
        if (!RE2::PartialMatch(bytes, attribute, &count)) continue;
        const auto changed = [&](std::int64_t to) {
            std::string copy = bytes;
            RE2::Replace(&copy, attribute, fmt::format(" {}=\"{}\"", word, to));
            return copy;
        };
        const bool pytest =
            read(bytes).parts[0].framework == "pytest" && word == std::string("tests");
        if (pytest) {
            EXPECT_THAT(mismatches(changed(count + 1)), IsEmpty());
            EXPECT_THAT(read(changed(count + 1)).parts[0].diagnostics[0].message,
                        ::testing::StartsWith("its totals count 10 more than it names"));
            EXPECT_EQ(mismatches(changed(count - 15)).size(), 1u);
            continue;
        }
        EXPECT_THAT(mismatches(changed(count + 1)), ElementsAre(::testing::StartsWith(word)))
            << word;
        EXPECT_THAT(read(changed(count + 1)).diagnostics, IsEmpty());
    }
}

TEST_P(JunitTotals, ARemovedTestIsNoticed) {
    const std::string bytes = golden_bytes(GetParam());
    const RE2 element(R"((?s)(<testcase(?:[^>]*?/>|.*?</testcase>)))");
    re2::StringPiece rest(bytes);
    re2::StringPiece found;
    while (RE2::FindAndConsume(&rest, element, &found)) {
        std::string copy = bytes;
        copy.erase(static_cast<size_t>(found.data() - bytes.data()), found.size());
        const auto all = read(copy);
        bool noticed = !mismatches(copy).empty();
        for (const ModuleRecord& part : all.parts)
            for (const parsers::Diagnostic& d : part.diagnostics)
                noticed = noticed || d.message.starts_with("its totals count 10 more");
        // GoogleTest's totals leave out failures outside of tests.
        const bool outside = found.find("<testcase name=\"\"") != re2::StringPiece::npos;
        EXPECT_TRUE(noticed || outside) << std::string(found.substr(0, 200));
    }
}

TEST_P(JunitTotals, ACutFileIsNoticed) {
    const std::string bytes = golden_bytes(GetParam());
    const size_t end = bytes.find_last_not_of('\n') + 1;
    for (size_t cut = bytes.find("<testsuite"); cut < end; cut += 1 + cut / 97) {
        const auto all = read(std::string_view(bytes).substr(0, cut));
        std::vector<parsers::Diagnostic> diagnostics = all.diagnostics;
        size_t finished = 0;
        for (const ModuleRecord& part : all.parts) {
            diagnostics.insert(diagnostics.end(), part.diagnostics.begin(), part.diagnostics.end());
            finished += part.finished ? 1 : 0;
            EXPECT_EQ(part.outcome, parsers::ModuleOutcome::interrupted) << cut;
            const bool has_test =
                std::any_of(part.cases.begin(), part.cases.end(),
                            [](const parsers::CaseRecord& c) { return !c.pseudo; });
            EXPECT_TRUE(!has_test || !account(part).closed()) << cut;
        }
        EXPECT_EQ(finished, 0u) << cut;
        EXPECT_FALSE(diagnostics.empty()) << cut;
    }
}

INSTANTIATE_TEST_SUITE_P(Real, JunitTotals, ::testing::ValuesIn(files()), [](const auto& row) {
    std::string name = row.param;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
});

TEST(JunitTotals, OfTheRootAndOfItsSuitesAreCompared) {
    constexpr std::string_view kSuites =
        "<testsuite name='a' tests='1' failures='0' errors='0' skipped='0'><testcase name='x'/>"
        "</testsuite><testsuite name='b' tests='2' failures='0' errors='0' skipped='0'>"
        "<testcase name='x'/><testcase name='y'/></testsuite></testsuites>";
    const auto with_root = [&](std::string_view attributes) {
        return "<testsuites " + std::string(attributes) + ">" + std::string(kSuites);
    };
    EXPECT_THAT(mismatches(with_root("tests='3'")), IsEmpty());
    EXPECT_THAT(mismatches(with_root("")), IsEmpty());
    EXPECT_THAT(mismatches(with_root("tests='4'")),
                ElementsAre("tests: 3 by its tests, 4 by the framework's closing line"));
    std::string both = with_root("tests='2'");
    both.replace(both.find("</testsuite>") - 20, 20, "");
    EXPECT_THAT(mismatches(both),
                ElementsAre("tests: 2 by its tests, 3 by the framework's closing line"));
}

TEST(JunitTotals, OfSuitesInASuiteWithoutTotalsAreCompared) {
    const auto nested = [](int failures) {
        return fmt::format(
            "<testsuite name='all'><testsuite name='a' tests='1' failures='{}'><testcase name='x'/>"
            "</testsuite><testsuite name='b' tests='1' failures='0'><testcase name='y'/>"
            "</testsuite></testsuite>",
            failures);
    };
    EXPECT_THAT(mismatches(nested(0)), IsEmpty());
    EXPECT_THAT(mismatches(nested(3)),
                ElementsAre("failures: 0 by its tests, 3 by the framework's closing line"));
}

// Each run of pytest in a merged file is a part; the root has the totals of all.
TEST(JunitTotals, OfAMergedFileSumUpItsParts) {
    const std::string suite =
        "<testsuite name='pytest' tests='1' failures='0' errors='0' skipped='0'>"
        "<testcase classname='test_a' name='test_x'/></testsuite>";
    const auto merged = [&](int tests) {
        return "<testsuites tests='" + std::to_string(tests) + "'>" + suite + suite +
               "</testsuites>";
    };
    const auto right = read(merged(2));
    ASSERT_EQ(right.parts.size(), 2u);
    EXPECT_EQ(right.parts[1].path, "test_a.py");
    EXPECT_THAT(right.diagnostics, IsEmpty());
    EXPECT_THAT(mismatches(merged(2)), IsEmpty());
    const auto wrong = read(merged(3));
    ASSERT_EQ(wrong.diagnostics.size(), 1u);
    EXPECT_EQ(wrong.diagnostics[0].message,
              "totals differ: tests: 3 by the file as a whole, 2 by its suites");
}

TEST(JunitTotals, OfACutFileNeverAgree) {
    for (const char* bytes :
         {"<testsuites><testsuite name='a' tests='0'>",
          "<testsuites tests='0'><testsuite name='a' tests='0'></testsuite><testsuite name='b'",
          "<testsuites><testsuite name='a' tests='1'><testcase name='x'"}) {
        EXPECT_THAT(mismatches(bytes), ::testing::Not(IsEmpty())) << bytes;
        EXPECT_THAT(read(bytes).parts, ::testing::Not(IsEmpty())) << bytes;
    }
}

// An unknown writer may count a test with two failures once or twice.
TEST(JunitTotals, OfAnUnknownWriterMayCountTestsOrOutcomes) {
    const auto file = [](int failures) {
        return "<testsuite name='a' tests='" + std::to_string(failures) + "' failures='" +
               std::to_string(failures) +
               "'><testcase name='x'><failure message='m'/><failure message='n'/></testcase>"
               "</testsuite>";
    };
    EXPECT_THAT(mismatches(file(1)), IsEmpty());
    EXPECT_THAT(mismatches(file(2)), IsEmpty());
    EXPECT_EQ(mismatches(file(3)).size(), 2u);
}

TEST(JunitTotals, MissingTotalsAreADiagnostic) {
    const auto all = read("<testsuite name='a'><testcase name='x'/></testsuite>");
    ASSERT_EQ(all.parts.size(), 1u);
    ASSERT_EQ(all.parts[0].diagnostics.size(), 1u);
    EXPECT_EQ(all.parts[0].diagnostics[0].message,
              "it states no totals that its tests could be held to");
    EXPECT_FALSE(all.parts[0].closing);
}

}  // namespace
}  // namespace compat::analysis
