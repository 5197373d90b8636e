#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/ci/github.h"
#include "tests/reports/ci_sample.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class GithubTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    std::vector<std::string> lines() const {
        const auto model = samples::model(stored, folder.root() / "run");
        std::istringstream text(samples::rendered(model, [&](const ReportModel& run, Sink sink) {
            return github_annotations(run, options, std::move(sink));
        }));
        std::vector<std::string> all;
        for (std::string line; std::getline(text, line);) all.push_back(line);
        return all;
    }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::run(root);
    GithubOptions options;
};

TEST_F(GithubTest, EachTestThatBrokeHasOneLine) {
    EXPECT_THAT(
        lines(),
        ElementsAre(
            StartsWith("::error file=tests/ops/test_a.py,line=7,"
                       "title=tests/ops/test_a.py%3A%3AT%3A%3Atest_f%3A failed::AssertionError: "
                       "1 != 2%0ATo reproduce: runner "),
            HasSubstr("test_e%3A errored::RuntimeError: no kernel%0A"),
            StartsWith("::error file=tests/ops/test_a.py,line=9,title=tests/ops/test_a.py%3A%3AT"
                       "%3A%3Atest_xp%3A xpassed::passed unexpectedly"),
            HasSubstr("line=10,title=tests/ops/test_a.py%3A%3AT%3A%3Atest_c%3A crashed::SIGSEGV"),
            HasSubstr("test_t%3A timed_out::after 5m")));
    stored.info.framework = "pytest";
    EXPECT_THAT(lines(), SizeIs(4)) << "an unexpected pass breaks nothing there";
}

TEST_F(GithubTest, OnlyNewFailuresAreAnnotated) {
    options.run_before = "alpha_1";
    options.failed_before = [](const std::string& module, const std::string& test) {
        EXPECT_TRUE(test.starts_with(module + "::"));
        return test.ends_with("test_f") || test.ends_with("test_c");
    };
    const auto found = lines();
    ASSERT_THAT(found, SizeIs(4));
    EXPECT_THAT(found[0], HasSubstr("test_e"));
    EXPECT_THAT(found[1], HasSubstr("test_xp"));
    EXPECT_THAT(found[2], HasSubstr("test_t"));
    EXPECT_EQ(found[3],
              "::notice title=runner::2 tests failed in the run before, too (alpha_1). The summary "
              "has all.");
}

TEST_F(GithubTest, FurtherOnesAreCounted) {
    auto& record = stored.modules[0].attempts[0].record;
    for (int i = 0; i < 20; ++i)
        record.cases.push_back(samples::test(root, record.path, fmt::format("test_more{}", i), 1,
                                             parsers::State::failed));
    const auto found = lines();
    ASSERT_THAT(found, SizeIs(kGithubAnnotations + 1));
    EXPECT_EQ(found.back(),
              "::notice title=runner::10 of 25 new failures have an annotation. The summary has "
              "all.");
}

TEST_F(GithubTest, FilesAreNamedAsInTheCheckout) {
    options.prefix = "a,b/";
    EXPECT_THAT(lines().front(), StartsWith("::error file=a%2Cb/tests/ops/test_a.py,line=7,"));
    options.prefix.reset();
    EXPECT_THAT(lines().front(), StartsWith("::error title=tests"));
}

TEST_F(GithubTest, AModuleThatBrokeWithoutATestHasALine) {
    parsers::ModuleRecord& record = stored.modules[0].attempts[0].record;
    record.cases.clear();
    record.outcome = parsers::ModuleOutcome::crashed;
    record.reason = "SIGKILL";
    stored.modules[0].diagnostics.clear();
    EXPECT_THAT(lines(),
                ElementsAre("::error file=tests/ops/test_a.py,title=tests/ops/test_a.py%3A "
                            "crashed::SIGKILL"));
}

TEST_F(GithubTest, HostileTextStaysOnOneLineAndCommandsNothing) {
    stored = samples::hostile_run(root);
    const auto found = lines();
    ASSERT_THAT(found, SizeIs(4)) << "the flaky test has none";
    for (const std::string& line : found) {
        EXPECT_THAT(line, StartsWith("::error file=tests/"));
        for (const char byte : line) EXPECT_GE(static_cast<unsigned char>(byte), 0x20);
        EXPECT_LT(line.size(), 4000u);
    }
    EXPECT_THAT(found[0], HasSubstr("100%25%0D%0A::error file=x::y%0A\\x01 %250A"));
    EXPECT_THAT(found[0], HasSubstr("]]> red \\x00 \\u202e<b>"));
    EXPECT_THAT(found[0], Not(HasSubstr("\xED\xA0\x80")));
    stored.modules[0].attempts[0].record.cases[3].failure->message = std::string(1 << 20, '%');
    EXPECT_THAT(lines()[1], HasSubstr("more bytes in the report)"));
    EXPECT_LT(lines()[1].size(), 8000u);
}

}  // namespace
}  // namespace compat::reports
