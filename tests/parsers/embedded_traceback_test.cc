// Which traceback inside a message is taken for the cause.
#include <gtest/gtest.h>

#include <string>

#include "parsers/diagnosis/traceback.h"

namespace compat::parsers::embedded_traceback_test {
namespace {

const std::string kWorker =
    "Traceback (most recent call last):\n"
    "  File \"/x/train.py\", line 3, in main\n"
    "    step()\n"
    "KeyError: 'labels'\n";
const std::string kLauncher =
    "Traceback (most recent call last):\n"
    "  File \"/venv/bin/torchrun\", line 8, in <module>\n"
    "    sys.exit(main())\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "====\n"
    "train.py FAILED\n";

std::string with_margin(const std::string& margin, const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at) + 1;
        out += margin + text.substr(at, end - at);
        at = end;
    }
    return out;
}

std::string exception_in(const std::string& message) {
    const auto failure = embedded_traceback(message);
    return failure ? failure->first_line() : "";
}

TEST(EmbeddedTraceback, IsTheWorkersAndNotItsLaunchers) {
    EXPECT_EQ(exception_in("failed with returncode 1\n" + kWorker + kLauncher),
              "KeyError: 'labels'");
    const auto failure = embedded_traceback("failed\n" + kWorker + "\n" + kLauncher);
    ASSERT_EQ(failure->frames.size(), 1u);
    EXPECT_EQ(failure->frames[0].file, "/x/train.py");
    EXPECT_EQ(failure->frames[0].function, "main");
    EXPECT_EQ(exception_in("failed with returncode 1\n" + kLauncher), "");
}

TEST(EmbeddedTraceback, IsFoundInAnAssertionOfPytest) {
    const size_t header = kWorker.find('\n') + 1;
    const std::string message = kWorker.substr(0, header) +
                                with_margin("  ", kWorker.substr(header)) +
                                "  \nassert 1 == 0\n +  where 1 = CompletedProcess(args=['x'], "
                                "returncode=1, stderr='Traceback').returncode";
    const auto failure = embedded_traceback(message);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->first_line(), "KeyError: 'labels'");
    ASSERT_EQ(failure->frames.size(), 1u);
    EXPECT_EQ(failure->frames[0].function, "main");
    EXPECT_TRUE(reports_exit(message));
    EXPECT_FALSE(reports_exit("CompletedProcess(args=['x'], returncode=0)"));
}

TEST(EmbeddedTraceback, OfSeveralRanksIsTheFirst) {
    const std::string later =
        "Traceback (most recent call last):\n"
        "  File \"/x/train.py\", line 9, in main\n"
        "RuntimeError: Connection closed by peer\n";
    EXPECT_EQ(exception_in(with_margin("[rank0]: ", kWorker) + with_margin("[rank1]: ", later)),
              "KeyError: 'labels'");
    EXPECT_EQ(exception_in(kWorker + later), "RuntimeError: Connection closed by peer");
}

TEST(EmbeddedTraceback, IsFoundAmongTheLinesOfOthers) {
    const std::string message =
        "[rank0]: Traceback (most recent call last):\n"
        "[rank1]: Traceback (most recent call last):\n"
        "[rank0]:   File \"/x/a.py\", line 1, in f\n"
        "[rank1]:   File \"/x/a.py\", line 2, in f\n"
        "[rank0]: ValueError: zero\n"
        "[rank1]: ValueError: one\n";
    EXPECT_EQ(exception_in(message), "ValueError: zero");
}

TEST(EmbeddedTraceback, KeepsTheExceptionsThatAreLinkedToIt) {
    const auto failure = embedded_traceback(
        "exit code 1\n" + kWorker +
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        "  File \"/x/b.py\", line 1, in load\n"
        "RuntimeError: cannot load\n");
    EXPECT_EQ(failure->first_line(), "RuntimeError: cannot load");
    EXPECT_NE(failure->traceback.find("KeyError: 'labels'"), std::string::npos);
}

TEST(EmbeddedTraceback, IsNoneThatIsCutOffOrQuoted) {
    EXPECT_EQ(exception_in(""), "");
    EXPECT_EQ(exception_in("Traceback (most recent call last):"), "");
    EXPECT_EQ(exception_in("Traceback (most recent call last):\n  File \"x\", line 1, in f\n"), "");
    EXPECT_EQ(exception_in("'Traceback (most recent call last):' in the log\nKeyError: 1"), "");
    EXPECT_EQ(exception_in("Traceback (most recent call last):\n# a comment\nKeyError: 1\n"), "");
}

TEST(EmbeddedTraceback, TakesNoTimeOnAnyText) {
    std::string many;
    for (int i = 0; i < 50'000; ++i) many += "Traceback (most recent call last):\n";
    EXPECT_EQ(exception_in(many), "");
    for (int i = 0; i < 2'000; ++i) many += kWorker;
    EXPECT_EQ(exception_in(many), "KeyError: 'labels'");
}

TEST(ReportsExit, KnowsHowProgramsSayIt) {
    for (const char* words :
         {"'x' failed with returncode 1", "Command exited with status 1:", "failed (exitcode: 1)",
          "returned non-zero exit status 2.", "Process exited with code 1, exit code 1",
          "Command `x` failed with the following error:"})
        EXPECT_TRUE(reports_exit(words)) << words;
    for (const char* words : {"", "1 != 0", "the function returned 3", "404 == 200"})
        EXPECT_FALSE(reports_exit(words)) << words;
}

}  // namespace
}  // namespace compat::parsers::embedded_traceback_test
