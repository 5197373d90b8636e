#include "parsers/diagnosis/traceback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::parsers::traceback_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Row {
    std::string name;
    std::string text;
    std::string type;
    std::string message;
    std::vector<Frame> frames;
};

class Tracebacks : public ::testing::TestWithParam<Row> {};

TEST_P(Tracebacks, AreRead) {
    const Row& row = GetParam();
    const Failure failure = parse_traceback(row.text);
    EXPECT_EQ(failure.type, row.type);
    EXPECT_EQ(failure.message, row.message);
    EXPECT_EQ(failure.frames, row.frames);
    EXPECT_EQ(failure.traceback, row.text);
}

const std::vector<Row> kRows{
    {"elided",
     "Traceback (most recent call last):\n"
     "  File \"/s/a.py\", line 3, in f\n"
     "...\n"
     "    ~^^\n"
     "  File \"/s/c.py\", line 40, in g\n"
     "    h()\n"
     "KeyError: 'x'\n",
     "KeyError",
     "'x'",
     {{"/s/a.py", 3, "f"}, {"/s/c.py", 40, "g"}}},
    {"plain",
     "Traceback (most recent call last):\n"
     "  File \"/s/a b.py\", line 3, in f\n"
     "    g()\n"
     "    ~^^\n"
     "  File \"/s/c.py\", line 40, in <lambda>\n"
     "  [Previous line repeated 9 more times]\n"
     "pkg.mod.Error: one: two\n",
     "pkg.mod.Error",
     "one: two",
     {{"/s/a b.py", 3, "f"}, {"/s/c.py", 40, "<lambda>"}}},
    {"without_a_message",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyboardInterrupt\n",
     "KeyboardInterrupt",
     "",
     {{"a.py", 1, "f"}}},
    {"message_that_begins_with_a_newline",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: "
     "\nfirst\n\nlast\n",
     "ValueError",
     "\nfirst\n\nlast",
     {{"a.py", 1, "f"}}},
    {"chained",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'k'\n\n"
     "During handling of the above exception, another exception occurred:\n\n"
     "Traceback (most recent call last):\n  File \"a.py\", line 2, in g\nRuntimeError: r\n",
     "RuntimeError",
     "r",
     {{"a.py", 2, "g"}}},
    {"message_that_quotes_a_traceback",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
     "AssertionError: child:\nTraceback (most recent call last):\n  File \"x.py\", line 9, in "
     "x\nOSError: no\n",
     "AssertionError",
     "child:\nTraceback (most recent call last):\n  File \"x.py\", line 9, in x\nOSError: no",
     {{"a.py", 1, "f"}}},
    {"syntax_error",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import b\n"
     "  File \"b.py\", line 2\n    def\n       ^\nSyntaxError: invalid syntax\n",
     "SyntaxError",
     "invalid syntax",
     {{"a.py", 1, "<module>"}}},
    {"failed_import",
     "ImportError: Failed to import test module: t\nTraceback (most recent call last):\n"
     "  File \"t.py\", line 1, in <module>\n    import x\nModuleNotFoundError: No module named "
     "'x'\n",
     "ModuleNotFoundError",
     "No module named 'x'",
     {{"t.py", 1, "<module>"}}},
    {"group",
     "  + Exception Group Traceback (most recent call last):\n"
     "  |   File \"a.py\", line 5, in f\n"
     "  |     raise\n"
     "  | ExceptionGroup: many (2 sub-exceptions)\n"
     "  +-+---------------- 1 ----------------\n"
     "    | ValueError: inner\n"
     "    +---------------- 2 ----------------\n"
     "    | KeyError: other\n"
     "    +------------------------------------\n",
     "ExceptionGroup",
     "many (2 sub-exceptions)",
     {{"a.py", 5, "f"}}},
    {"buffered_output",
     "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: "
     "v\n\nStdout:\nprinted\n",
     "ValueError",
     "v",
     {{"a.py", 1, "f"}}},
    {"no_traceback", "\n something odd\nmore\n", "", "something odd", {}},
    {"type_alone", "AssertionError\n", "AssertionError", "", {}},
    {"nothing", "", "", "", {}},
    {"cut_in_a_frame", "Traceback (most recent call last):\n  File \"a.py\", li", "", "", {}},
    {"line_beyond_all_numbers",
     "Traceback (most recent call last):\n  File \"a.py\", line 99999999999999999999, in f\nE: m\n",
     "E",
     "m",
     {}},
};

INSTANTIATE_TEST_SUITE_P(All, Tracebacks, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(Failure, KeyLineIsOneLine) {
    const auto key_line = [](std::string type, std::string message) {
        Failure failure;
        failure.type = std::move(type);
        failure.message = std::move(message);
        return failure.key_line();
    };
    EXPECT_EQ(key_line("ValueError", "one\ntwo"), "ValueError: one");
    EXPECT_EQ(key_line("ValueError", "\n  \n first \r\nlast"), "ValueError: first");
    EXPECT_EQ(key_line("ValueError", ""), "ValueError");
    EXPECT_EQ(key_line("", "just words"), "just words");
    EXPECT_EQ(key_line("", ""), "");
}

TEST(FailingSource, IsTheSuitesInnermostStatement) {
    const std::string python =
        "Traceback (most recent call last):\n"
        "  File \"/x/tests/test_a.py\", line 3, in test\n"
        "    self.check(x)\n"
        "    ~~~~~~~~~~^^^\n"
        "  File \"/x/tests/helpers.py\", line 9, in check\n"
        "    assert (\n"
        "        x.is_cuda)\n"
        "  File \"/x/site-packages/torch/testing/_comparison.py\", line 4, in f\n"
        "    raise AssertionError\n"
        "AssertionError\n";
    EXPECT_EQ(failing_source(python), "assert (\n        x.is_cuda)");
    EXPECT_EQ(failing_source(python + "\nStdout:\n  File \"/x/a.py\", line 1, in g\n    other\n"),
              "assert (\n        x.is_cuda)");
    EXPECT_EQ(
        failing_source("    def test(self):\n>       self.check(x)\n\ntests/test_a.py:3: \n_ _ _\n"
                       "    def check(self, x):\n>       assert x.is_cuda\nE       assert False\n"
                       "\ntests/test_a.py:3: AssertionError"),
        "assert x.is_cuda");
    EXPECT_EQ(
        failing_source("/usr/lib/python3.11/unittest/case.py:715: in assertTrue\n    raise x\n"
                       "Examples/test_a.py:3: in test\n    self.assertTrue(x.is_cuda)\n"
                       "../v/site-packages/pkg/a.py:9: in f\n    other()\n"
                       "E   AssertionError: a.py:3: in f\n"),
        "self.assertTrue(x.is_cuda)")
        << "--tb=short";
    EXPECT_EQ(failing_source("AssertionError: False is not true"), "");
    EXPECT_EQ(failing_source(""), "");
    EXPECT_EQ(failing_source("  File \"/x/a.py\", line 1, in f"), "");
}

TEST(FailingSource, OfOneThatOnlyRaisesIsItsCallers) {
    const auto frame = [](const char* function, const char* source) {
        return std::string("  File \"/x/tests/case.py\", line 9, in ") + function + "\n    " +
               source + "\n";
    };
    const std::string header = "Traceback (most recent call last):\n";
    const std::string asks = frame("test", "self.assertEqual(x.device, y)");
    const std::string raises = frame("assertEqual", "raise AssertionError(first)");
    EXPECT_EQ(failing_source(header + asks + raises), "self.assertEqual(x.device, y)");
    EXPECT_EQ(failing_source(header + asks + raises + raises), "self.assertEqual(x.device, y)");
    EXPECT_EQ(failing_source(header + raises), "raise AssertionError(first)");
    EXPECT_EQ(failing_source(header + asks +
                             "\nDuring handling of the above exception, another "
                             "exception occurred:\n\n" +
                             header + raises),
              "raise AssertionError(first)")
        << "what was asked for before has nothing to do with it";
    EXPECT_EQ(failing_source(">       check(x)\n\na.py:3: \n_ _\n>       raise AssertionError\n"
                             "E       AssertionError\n\na.py:9: AssertionError"),
              "check(x)");
}

TEST(RaisedFromAnother, OnlyWherePythonSaysSo) {
    const std::string link = "The above exception was the direct cause of the following exception:";
    EXPECT_TRUE(raised_from_another("OSError: x\n\n" + link + "\n\nTraceback"));
    EXPECT_FALSE(raised_from_another("ValueError: " + link));
    EXPECT_TRUE(raised_from_another("ValueError: " + link + "\n" + link));
    EXPECT_FALSE(raised_from_another(
        "OSError: x\n\nDuring handling of the above exception, another exception occurred:\n"));
}

}  // namespace
}  // namespace compat::parsers::traceback_test
