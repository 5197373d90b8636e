// Excerpts of logs as frameworks print them, and of logs of any size and content.
#include "runner/archive/log_excerpt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class LogExcerptTest : public ::testing::Test {
  protected:
    LogExcerpt excerpt(const std::string& log, const std::string& test,
                       const ExcerptOptions& options = {}) {
        tree_.write("1.log", log);
        auto read = log_excerpt(tree_.root(), "1.log", test, options);
        EXPECT_TRUE(read) << to_line(read.error());
        return read.value_or(LogExcerpt{});
    }

    test::TempTree tree_;
};

const std::string kPytest =
    "tests/test_b.py::TestX::test_bad[1] FAILED      [ 50%]\n"
    "tests/test_b.py::TestX::test_bad[2] PASSED      [100%]\n"
    "\n"
    "=========================== FAILURES ===========================\n"
    "______________________ TestX.test_bad[1] _______________________\n"
    ">       assert n == 2\n"
    "E       assert 1 == 2\n"
    "---------------------- Captured stdout call --------------------\n"
    "n is 1\n"
    "__________________________ test_other __________________________\n"
    "E   assert 0\n"
    "=================== short test summary info ====================\n"
    "FAILED tests/test_b.py::TestX::test_bad[1] - assert 1 == 2\n";

TEST_F(LogExcerptTest, APytestFailureIsItsSection) {
    const auto found = excerpt(kPytest, "tests/test_b.py::TestX::test_bad[1]");
    EXPECT_TRUE(found.about_test);
    EXPECT_EQ(found.first_line, 5u);
    EXPECT_THAT(
        found.lines,
        ElementsAre("______________________ TestX.test_bad[1] _______________________",
                    ">       assert n == 2", "E       assert 1 == 2",
                    "---------------------- Captured stdout call --------------------", "n is 1"));
    const auto other = excerpt(kPytest, "tests/test_b.py::test_other");
    EXPECT_EQ(other.first_line, 10u);
    EXPECT_EQ(other.lines.back(), "E   assert 0");
}

const std::string kUnittest =
    "test_bad (tests.test_a.A.test_bad) ... FAIL\n"
    "test_bad_two (tests.test_a.A.test_bad_two) ... FAIL\n"
    "\n"
    "======================================================================\n"
    "FAIL: test_bad (tests.test_a.A.test_bad)\n"
    "----------------------------------------------------------------------\n"
    "AssertionError: 1\n"
    "\n"
    "======================================================================\n"
    "FAIL: test_bad_two (tests.test_a.A.test_bad_two)\n"
    "----------------------------------------------------------------------\n"
    "AssertionError: 2\n";

TEST_F(LogExcerptTest, AUnittestFailureIsItsSection) {
    const auto found = excerpt(kUnittest, "tests/test_a.py::A::test_bad");
    EXPECT_EQ(found.first_line, 5u);
    EXPECT_EQ(found.lines.back(), "AssertionError: 1");
    const auto second = excerpt(kUnittest, "tests/test_a.py::A::test_bad_two");
    EXPECT_EQ(second.first_line, 10u);
    EXPECT_EQ(second.lines.back(), "AssertionError: 2");
}

TEST_F(LogExcerptTest, APrivateKeyIsMaskedOverItsLines) {
    const std::string key =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nqWertzUiop\n"
        "-----END RSA PRIVATE KEY-----\n";
    const auto found = excerpt("tests/a.py::test_bad\n" + key + "tests/a.py::test_bad FAILED\n",
                               "tests/a.py::test_bad");
    EXPECT_THAT(found.lines,
                ElementsAre("tests/a.py::test_bad", "-----BEGIN RSA PRIVATE KEY-----", "<set>", "",
                            "-----END RSA PRIVATE KEY-----", "tests/a.py::test_bad FAILED"));
}

TEST_F(LogExcerptTest, WithoutAHeadingItGoesFromTheFirstToTheLastLineThatNamesTheTest) {
    const std::string log =
        "[ RUN      ] Suite.Other\n[       OK ] Suite.Other (0 ms)\n"
        "[ RUN      ] Suite.Test/1\na.cc:3: Failure\n[  FAILED  ] Suite.Test/1 (0 ms)\n"
        "[ RUN      ] Suite.Test/10\n[       OK ] Suite.Test/10 (0 ms)\n";
    EXPECT_THAT(excerpt(log, "bin/a::Suite::Test/1").lines,
                ElementsAre("[ RUN      ] Suite.Test/1", "a.cc:3: Failure",
                            "[  FAILED  ] Suite.Test/1 (0 ms)"));
}

TEST_F(LogExcerptTest, ACrashIsShownUpToTheEndOfTheLog) {
    std::string log = "tests/test_c.py::test_dies ";
    for (int i = 0; i < 1000; ++i) log += "line " + std::to_string(i) + "\n";
    log += "Fatal Python error: Segmentation fault\n";
    const auto found = excerpt(log, "tests/test_c.py::test_dies", {9, {}});
    EXPECT_EQ(found.first_line, 1u);
    EXPECT_THAT(found.lines,
                ElementsAre("tests/test_c.py::test_dies line 0", "line 1", "line 2",
                            "… 992 lines …", "line 995", "line 996", "line 997", "line 998",
                            "line 999", "Fatal Python error: Segmentation fault"));
}

TEST_F(LogExcerptTest, ALogThatNeverNamesTheTestIsShownFromItsEnd) {
    const auto found = excerpt("one\ntwo\nthree\nfour", "m.py::A::test_x", {2, {}});
    EXPECT_FALSE(found.about_test);
    EXPECT_EQ(found.first_line, 3u);
    EXPECT_THAT(found.lines, ElementsAre("three", "four"));
    EXPECT_EQ(excerpt("", "m.py::A::test_x").first_line, 0u);
    // A longer name is another test.
    EXPECT_FALSE(excerpt("A.test_xy\nBA.test_x\nA.test_x[1]\n", "m.py::A::test_x").about_test);
}

TEST_F(LogExcerptTest, LinesArePrintableAndHideSecrets) {
    const auto found = excerpt(
        "A.test_x\x1b[31m red\x1b[0m \x07\n10%\r20%\r30%\r\n\tHF_TOKEN=abc key=3\n"
        "{'API_KEY': 'xyz'} https://me:pass@host/ said topsecret\n\xff\n",
        "m.py::A::test_x", {40, {"topsecret"}});
    EXPECT_THAT(found.lines,
                ElementsAre("A.test_x red \\x07", "30%", "    HF_TOKEN=<set> key=3",
                            "{'API_KEY': '<set>'} https://me:<set>@host/ said <set>", "\uFFFD"));
}

TEST_F(LogExcerptTest, ALongLineIsCut) {
    const auto found = excerpt("A.test_x " + std::string(1 << 22, 'x') + "\n", "m.py::A::test_x");
    ASSERT_THAT(found.lines, SizeIs(1));
    EXPECT_LT(found.lines[0].size(), 5000u);
}

TEST_F(LogExcerptTest, OnlyFilesOfTheRunAreRead) {
    tree_.write("run/1.log", "A.test_x\n");
    tree_.write("outside", "A.test_x\n");
    const fs::path run = tree_.root() / "run";
    for (const std::string name : {"../outside", "modules/../../outside", "/etc/hostname", ""})
        EXPECT_FALSE(log_excerpt(run, name, "m.py::A::test_x")) << name;
    EXPECT_FALSE(log_excerpt(run, "gone.log", "m.py::A::test_x"));
    fs::create_symlink("/dev/zero", run / "zero");
    const auto device = log_excerpt(run, "zero", "m.py::A::test_x");
    ASSERT_FALSE(device);
    EXPECT_THAT(to_line(device.error()), HasSubstr("not a regular file"));
}

TEST_F(LogExcerptTest, TestsOfOneLogGetWhatEachGetsAlone) {
    std::string many;
    for (int i = 0; i < 300; ++i)
        many += fmt::format("test_many.py::test_x[{}] line\nits output\n", i % 100);
    const std::vector<std::string> tests{"tests/test_b.py::TestX::test_bad[1]",
                                         "tests/test_b.py::test_other",
                                         "tests/test_b.py::TestX::test_bad[2]",
                                         "tests/test_a.py::A::test_bad_two",
                                         "test_many.py::test_x[7]",
                                         "test_many.py::test_x[77]",
                                         "test_many.py::test_x[99]",
                                         "test_none.py::test_none",
                                         "test_many.py::[…]"};
    for (const std::string& log : {kPytest, kUnittest, many, kPytest + many, std::string{}}) {
        tree_.write("1.log", log);
        const auto all = log_excerpts(tree_.root(), "1.log", tests);
        ASSERT_TRUE(all);
        ASSERT_EQ(all->size(), tests.size());
        for (std::size_t i = 0; i < tests.size(); ++i) {
            const auto alone = excerpt(log, tests[i]);
            EXPECT_EQ(all->at(i).lines, alone.lines) << tests[i];
            EXPECT_EQ(all->at(i).first_line, alone.first_line) << tests[i];
            EXPECT_EQ(all->at(i).about_test, alone.about_test) << tests[i];
        }
    }
    EXPECT_TRUE(log_excerpts(tree_.root(), "1.log", {})->empty());
}

}  // namespace
}  // namespace compat::archive
