// The lines of a log without what CI systems put around them, and what one line of unittest's or of
// pytest's is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/import/lines.h"
#include "parsers/import/pytest/event.h"
#include "parsers/import/unittest/event.h"

namespace compat::parsers::log_lines_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> all;
    for (LogLines lines(text); lines.next();) all.emplace_back(lines.line());
    return all;
}

TEST(LogLines, AreWithoutTheTimesOfEachCiSystem) {
    for (const std::string_view prefix :
         {"", "2024-05-01T12:34:56.1234567Z ", "2024-05-01T12:34:56.123456Z 00O ",
          "2024-05-01T12:34:56.123456Z 01E+", "[2024-05-01T12:34:56.123Z] ", "12:34:56 ",
          "12:34:56  ", "build\tRun tests\t2024-05-01T12:34:56.1234567Z "})
        EXPECT_THAT(lines_of(std::string(prefix) + "ok"), ElementsAre("ok")) << prefix;
    for (const std::string_view other : {"12:34 ok", "2024-05-01 ok", "[12] ok", "12:34:56+ok"})
        EXPECT_THAT(lines_of(other), ElementsAre(other));
}

TEST(LogLines, AreWithoutWhatTheCiSystemWroteItself) {
    EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                         "2024-05-01T12:34:56.1234567Z ##[group]Run pytest\n"
                         "2024-05-01T12:34:56.1234567Z \x1b[32mok\x1b[0m\r\n"
                         "section_start:1560896352:step\r\x1b[0KRun\n"
                         "2024-05-01T12:34:56.1234567Z\n"
                         "section_end:1560896353:step\r\x1b[0K\nlast"),
                ElementsAre("ok", "", "last"));
}

TEST(LogLines, HaveTheOffsetsOfTheFile) {
    const std::string_view text = "##[group]a\n12:34:56 ok\n";
    LogLines lines(text);
    ASSERT_TRUE(lines.next());
    EXPECT_EQ(lines.offset(), text.find("12:"));
    EXPECT_EQ(lines.after(), text.size());
}

struct UnittestLine {
    std::string_view line;
    UnittestEvent::Kind kind;
    std::string_view rest;
};

TEST(UnittestEvent, DependsOnTheLineAlone) {
    using Kind = UnittestEvent::Kind;
    constexpr std::array kLines{
        UnittestLine{"test_x (m.A.test_x) ... ok", Kind::test, "ok"},
        UnittestLine{"  test_x (m.A.test_x) ... ok (0.1s)", Kind::test, "ok (0.1s)"},
        UnittestLine{"setUpClass (m.A) ... ERROR", Kind::test, "ERROR"},
        UnittestLine{"test_x (m.A.test_x)", Kind::heading, ""},
        UnittestLine{"  test_x (m.A.test_x) [m] (i=1) ... FAIL", Kind::subtest, "[m] (i=1)"},
        UnittestLine{"skipped 'why'", Kind::status, ""},
        UnittestLine{"FAIL: test_x (m.A.test_x)", Kind::title, "test_x (m.A.test_x)"},
        UnittestLine{"ERROR [0.003s]: test_x (m.A)", Kind::title, "test_x (m.A)"},
        UnittestLine{"Ran 3 tests in 0.1s", Kind::ran, ""},
        UnittestLine{"..F.s", Kind::text, ""},
        UnittestLine{"Running a/test_b 1/2 ... [2024-05-01 12:34:56.1]", Kind::announced, ""},
        UnittestLine{"0.123s     test_x (m.A.test_x)", Kind::text, ""},
        UnittestLine{"Stdout:", Kind::text, ""},
        UnittestLine{"Fetching latest (v1.2) ... done", Kind::text, ""},
        UnittestLine{"", Kind::blank, ""},
    };
    for (const UnittestLine& known : kLines) {
        const UnittestEvent event = unittest_event_of(known.line);
        EXPECT_EQ(event.kind, known.kind) << known.line;
        EXPECT_EQ(event.rest, known.rest) << known.line;
    }
}

struct PytestLine {
    std::string_view line;
    PytestEvent::Kind kind;
};

TEST(PytestEvent, DependsOnTheLineAlone) {
    using Kind = PytestEvent::Kind;
    constexpr std::array kLines{
        PytestLine{"===== test session starts =====", Kind::start},
        PytestLine{"t.py::test_x ===== test session starts =====", Kind::start},
        PytestLine{"platform linux -- Python 3.11.7, pytest-8.4.2", Kind::platform},
        PytestLine{"collecting ... collected 3 items / 1 skipped", Kind::collected},
        PytestLine{"2 workers [5 items]", Kind::workers},
        PytestLine{"t.py::A::test_x[a b] PASSED [ 50%]", Kind::node},
        PytestLine{"[gw0] [ 50%] PASSED t.py::test_x", Kind::node},
        PytestLine{"test_x.py::T::test_a PASSED [0.0012s] [  5%]", Kind::node},
        PytestLine{"SKIPPED (no gpu)", Kind::outcome},
        PytestLine{"t.py ..F   [ 50%]", Kind::text},
        PytestLine{"===== FAILURES =====", Kind::heading},
        PytestLine{"_____ A.test_x _____", Kind::section},
        PytestLine{"----- Captured stdout call -----", Kind::captured},
        PytestLine{"!!!!! stopping after 1 failures !!!!!", Kind::stopped},
        PytestLine{"===== 1 failed, 2 passed in 0.1s =====", Kind::closing},
        PytestLine{"2 passed in 0.1s", Kind::closing},
        PytestLine{"INTERNALERROR> x", Kind::internal},
        PytestLine{"error: std::vector", Kind::text},
        PytestLine{"t.py PASSED (x::y)", Kind::text},
        PytestLine{"", Kind::text},
    };
    for (const PytestLine& known : kLines)
        EXPECT_EQ(pytest_event_of(known.line).kind, known.kind) << known.line;
}

TEST(PytestEvent, OfATestHasItsNameAndOutcome) {
    const auto node = pytest_event_of("test_x.py::T::test_a SKIPPED [0.5s] (no) [  5%]");
    ASSERT_TRUE(node.status);
    EXPECT_EQ(node.name, "test_x.py::T::test_a");
    EXPECT_EQ(node.status->state, State::skipped);
    EXPECT_EQ(node.status->reason, "no");
    EXPECT_DOUBLE_EQ(node.status->duration_s, 0.5);
    const auto printed = pytest_event_of("t.py::test_b epoch 1");
    EXPECT_EQ(printed.kind, PytestEvent::Kind::node);
    EXPECT_EQ(printed.name, "t.py::test_b");
    EXPECT_EQ(printed.rest, "epoch 1");
}

}  // namespace
}  // namespace compat::parsers::log_lines_test
