// The end of a log into a Failure: real dumps of faulthandler's, and logs that only look like one.
#include "parsers/crash_excerpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/text.h"

namespace compat::parsers::crash_excerpt_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const ProcessEnd kSegv{ProcessEnd::Kind::signaled, 11, "SIGSEGV"};
const ProcessEnd kAbort{ProcessEnd::Kind::signaled, 6, "SIGABRT"};
const ProcessEnd kKill{ProcessEnd::Kind::signaled, 9, "SIGKILL"};
const ProcessEnd kExit3{ProcessEnd::Kind::exited, 3, {}};
const ProcessEnd kTimeout{ProcessEnd::Kind::timed_out, 0, "after 2.0s"};

constexpr std::string_view kName = "tests.test_a.A.test_b";

// Python 3.11's, of a test under unittest.
constexpr std::string_view kSegvLog =
    R"(test_a (tests.test_a.A.test_a) ... ok
test_b (tests.test_a.A.test_b) ... Fatal Python error: Segmentation fault

Thread 0x00007f0000000002 (most recent call first):
  File "/s/tests/beside.py", line 3 in wait

Current thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/s/tests/test_a.py", line 9 in helper
  File "/s/tests/test_a.py", line ??? in test_b
  File "/usr/lib/python3.11/unittest/case.py", line 579 in _callTestMethod
  File "/opt/harness/_compat_harness/session.py", line 99 in main
  File "/opt/harness/main.py", line 20 in <module>

Extension modules: numpy.core._multiarray_umath (total: 1)
)";

TEST(CrashExcerpt, OfASignalAreTheDumpThatNamesIt) {
    const Failure f = crash_excerpt(kSegvLog, kSegv, kName);
    EXPECT_EQ(f.key_line(), "SIGSEGV: Fatal Python error: Segmentation fault");
    const std::vector<Frame> frames{{"/s/tests/test_a.py", 0, "test_b"},
                                    {"/s/tests/test_a.py", 9, "helper"},
                                    {"/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at"}};
    EXPECT_EQ(f.frames, frames);
    EXPECT_THAT(f.traceback, HasSubstr("line 519 in string_at"));
    EXPECT_THAT(f.traceback, HasSubstr("Extension modules"));
}

// Python 3.14 names threads and adds a stack of C; without the GIL it shows one thread alone.
TEST(CrashExcerpt, NewerPythonsHaveOtherHeaders) {
    for (const std::string header :
         {"Thread 0x00007f0000000002 [beside] (most recent call first):\n"
          "  File \"/s/tests/beside.py\", line 3 in wait\n\n"
          "Current thread 0x00007f0000000001 [python] (most recent call first):\n",
          "<Cannot show all threads while the GIL is disabled>\n"
          "Stack (most recent call first):\n"}) {
        const Failure f = crash_excerpt(
            "test_b (tests.test_a.A.test_b) ... Fatal Python error: Segmentation fault\n\n" +
                header +
                "  File \"/s/tests/test_a.py\", line 9 in helper\n"
                "  File \"/s/tests/test_a.py\", line 12 in test_b\n\n"
                "Current thread's C stack trace (most recent call first):\n"
                "  Binary file \"/usr/bin/python3.14\", at _Py_DumpStack+0x4a [0x49b2f9]\n",
            kSegv, kName);
        EXPECT_EQ(f.key_line(), "SIGSEGV: Fatal Python error: Segmentation fault");
        const std::vector<Frame> frames{{"/s/tests/test_a.py", 12, "test_b"},
                                        {"/s/tests/test_a.py", 9, "helper"}};
        EXPECT_EQ(f.frames, frames);
    }
}

TEST(CrashExcerpt, ADumpOfAnotherSignalIsNotOfThisDeath) {
    // A child of the suite's crashed into the same log; the process itself exited.
    const std::string log = std::string(kSegvLog) + "the child crashed as expected\n";
    const Failure f = crash_excerpt(log, kExit3, kName);
    EXPECT_EQ(f.key_line(), "exit code 3: the child crashed as expected");
    EXPECT_TRUE(f.frames.empty());
    EXPECT_TRUE(crash_excerpt(log, kAbort, kName).frames.empty());
}

TEST(CrashExcerpt, APythonFatalErrorAborts) {
    const Failure f = crash_excerpt(
        "Fatal Python error: none_dealloc: deallocating None\n"
        "Python runtime state: initialized\n\n"
        "Current thread 0x00007f0000000001 (most recent call first):\n"
        "  File \"/s/a.py\", line 4 in test_b\n",
        kAbort, kName);
    EXPECT_EQ(f.message, "Fatal Python error: none_dealloc: deallocating None");
    EXPECT_EQ(f.frames, (std::vector<Frame>{{"/s/a.py", 4, "test_b"}}));
}

TEST(CrashExcerpt, OfATimeOutSayWhereItWas) {
    const Failure f = crash_excerpt(
        "tests/test_a.py::test_b Thread 0x00007f0000000002 (most recent call first):\n"
        "  File \"/s/beside.py\", line 3 in wait\n\n"
        "Current thread 0x00007f0000000001 (most recent call first):\n"
        "  File \"/s/a.py\", line 7 in inner\n"
        "  File \"/s/a.py\", line 4 in test_b\n"
        "  File \"/v/lib/python3.11/site-packages/_pytest/python.py\", line 157 in call\n",
        kTimeout, "tests/test_a.py::test_b");
    EXPECT_EQ(f.key_line(), "timed out: in inner (/s/a.py:7)");
    EXPECT_EQ(f.frames.size(), 2u);
    EXPECT_THAT(f.traceback, StartsWith("tests/test_a.py::test_b Thread"));
}

TEST(CrashExcerpt, OfAWaitNameWhoWaited) {
    const auto said = [](const std::string& stack) {
        return crash_excerpt("Current thread 0x1 (most recent call first):\n" + stack, kTimeout,
                             kName)
            .key_line();
    };
    const std::string harness = "  File \"/opt/_compat_harness/session.py\", line 9 in main\n";
    const std::string wait = "  File \"/usr/lib/python3.11/threading.py\", line 3 in wait\n";
    const std::string torch =
        "  File \"/v/lib/python3.11/site-packages/torch/a.py\", line 5 in get\n";
    const std::string test = "  File \"/s/a.py\", line 4 in test_b\n";
    EXPECT_EQ(said(wait + test + harness), "timed out: in test_b (/s/a.py:4)");
    EXPECT_EQ(said(wait + torch + test + harness),
              "timed out: in get (/v/lib/python3.11/site-packages/torch/a.py:5)");
    EXPECT_EQ(said(wait), "timed out: in wait (/usr/lib/python3.11/threading.py:3)");
    EXPECT_EQ(said(harness), "timed out: in main (/opt/_compat_harness/session.py:9)");
    EXPECT_EQ(said("  File \"/usr/lib/python3.11/unittest/case.py\", line 6 in run\n" + harness),
              "timed out: in run (/usr/lib/python3.11/unittest/case.py:6)");
    EXPECT_EQ(said("  <no Python frame>\n"), "timed out");
}

TEST(CrashExcerpt, WithoutADumpAreTheLastLineAfterTheTestsName) {
    const auto said = [](std::string_view log) {
        return crash_excerpt(log, kExit3, kName).key_line();
    };
    EXPECT_EQ(said("test_b (tests.test_a.A.test_b) ... "), "exit code 3");
    EXPECT_EQ(said("test_a (tests.test_a.A.test_a) ... ok\ntest_b (tests.test_a.A.test_b) ... "),
              "exit code 3");
    EXPECT_EQ(said("test_b (tests.test_a.A.test_b) ... why\n\n"), "exit code 3: why");
    EXPECT_EQ(said("test_b (tests.test_a.A.test_b) ... one\ntwo\n"), "exit code 3: two");
    EXPECT_EQ(said("test_b (tests.test_a.A.test_b)\nIts docstring. ... "), "exit code 3");
    EXPECT_EQ(said(""), "exit code 3");
    EXPECT_EQ(crash_excerpt("m.py::test_b leaving\n", kExit3, "m.py::test_b").message, "leaving");
    EXPECT_EQ(crash_excerpt("m.py::test_b ", kExit3, "m.py::test_b").message, "");
    EXPECT_EQ(crash_excerpt("header\n\nm.py .F", kExit3, "m.py::test_b").message, "");
}

TEST(CrashExcerpt, AreBounded) {
    std::string log;
    for (int i = 0; i < 100'000; ++i) log += "line " + std::to_string(i) + "\n";
    const Failure plain = crash_excerpt(log, kExit3, kName);
    EXPECT_EQ(plain.message, "line 99999");
    EXPECT_EQ(std::count(plain.traceback.begin(), plain.traceback.end(), '\n'), 60);
    EXPECT_THAT(plain.traceback, StartsWith("line 99940\n"));

    const Failure wide = crash_excerpt(std::string(10'000'000, '\xff'), kExit3, kName);
    EXPECT_LE(wide.traceback.size(), 2 * kLastBytes);
    EXPECT_LE(wide.message.size(), 2000u);
    EXPECT_EQ(valid_utf8(wide.traceback), wide.traceback);

    // Many threads before the one that is wanted.
    std::string threads;
    for (int i = 0; i < 100; ++i)
        threads += "Thread 0x0 (most recent call first):\n  File \"/b.py\", line 1 in wait\n\n";
    threads += "Current thread 0x1 (most recent call first):\n  File \"/a.py\", line 4 in test_b\n";
    const Failure f = crash_excerpt(threads, kTimeout, kName);
    EXPECT_EQ(f.message, "in test_b (/a.py:4)");
    EXPECT_THAT(f.traceback, StartsWith("Current thread 0x1"));
}

TEST(Attempt, RowsOfADeathCarryItsCrashExcerpt) {
    const std::string events =
        R"({"event":"session","pid":7,"format":1,"framework":"unittest"})"
        "\n"
        R"({"event":"collected","pid":7,"id":"m.py::A::test_b","name":"tests.test_a.A.test_b"})"
        "\n"
        R"({"event":"ready","pid":7,"collected":1})"
        "\n";
    const std::string begun = events + R"({"event":"start","pid":7,"id":"m.py::A::test_b"})" + "\n";
    const ModuleRecord inside = read_attempt({begun, kSegvLog, ""}, "unittest", "m.py", kSegv);
    ASSERT_EQ(inside.cases.size(), 1u);
    EXPECT_EQ(inside.cases[0].failure->type, "SIGSEGV");
    EXPECT_EQ(inside.cases[0].reason, "SIGSEGV");

    const ModuleRecord outside = read_attempt({events, kSegvLog, ""}, "unittest", "m.py", kSegv);
    ASSERT_EQ(outside.cases.size(), 2u);
    EXPECT_FALSE(outside.cases[0].failure);  // never started
    EXPECT_EQ(outside.cases[1].id, "m.py::<module>");
    EXPECT_EQ(outside.cases[1].failure->frames.size(), 3u);

    const ProcessEnd stopped{ProcessEnd::Kind::stopped, 0, "interrupted by SIGINT"};
    for (const CaseRecord& c :
         read_attempt({begun, kSegvLog, ""}, "unittest", "m.py", stopped).cases)
        EXPECT_FALSE(c.failure);
}

TEST(Attempt, AClosingLineIsNoLastWord) {
    const std::string events =
        R"({"event":"session","pid":7,"format":1,"framework":"unittest"})"
        "\n"
        R"({"event":"collected","pid":7,"id":"m.py::A::test_b","name":"tests.test_a.A.test_b"})"
        "\n"
        R"({"event":"start","pid":7,"id":"m.py::A::test_b"})"
        "\n"
        R"({"event":"end","pid":7,"id":"m.py::A::test_b","state":"passed"})"
        "\n"
        R"({"event":"finish","pid":7,"collected":1})"
        "\n";
    const std::string log = "test_b (tests.test_a.A.test_b) ... ok\n\n" + std::string(70, '-') +
                            "\nRan 1 test in 0.001s\n\nOK\n";
    const auto row = [&](const std::string& text) {
        return read_attempt({events, text, ""}, "unittest", "m.py", kExit3).cases.at(1);
    };
    EXPECT_EQ(row(log).failure->key_line(), "exit code 3");
    EXPECT_THAT(row(log).failure->traceback, HasSubstr("Ran 1 test"));
    EXPECT_EQ(row(log + "at exit\n").failure->key_line(), "exit code 3: at exit");
}

// pytest-timeout (method=thread) ends the process, and says so last.
TEST(Attempt, TheLogSaysThatPytestTimeoutEndedTheProcess) {
    const std::string events =
        R"({"event":"session","pid":7,"format":1,"framework":"pytest"})"
        "\n"
        R"({"event":"collected","pid":7,"id":"t.py::test_b","name":"t.py::test_b"})"
        "\n"
        R"({"event":"start","pid":7,"id":"t.py::test_b"})"
        "\n";
    const std::string log =
        "t.py::test_b +++++ Timeout +++++\n  File \"t.py\", line 12, in test_b\n";
    const auto row = [&](const std::string& end, int code) {
        const ProcessEnd exited{ProcessEnd::Kind::exited, code, {}};
        return read_attempt({events, log + end, ""}, "pytest", "t.py", exited).cases.at(0);
    };
    EXPECT_EQ(row("+++++ Timeout +++++\n", 1).state, State::timed_out);
    EXPECT_EQ(row("+++++ Timeout +++++\n", 1).reason, "timed out by pytest-timeout");
    EXPECT_EQ(row("+++++ Timeout +++++\nmore\n", 1).state, State::crashed);
    EXPECT_EQ(row("+++++ Timeout +++++\n", 3).state, State::crashed);
}

// On a full disk neither events nor a log can be written.
TEST(CrashExcerpt, OfAHarnessThatCannotWriteItsEvents) {
    const auto row = [](const std::string& log, int code) {
        const ProcessEnd end{ProcessEnd::Kind::exited, code, {}};
        return read_attempt({"", log, "", {}, {}, read_attempt_log}, "unittest", "m.py", end)
            .cases.at(0)
            .failure->key_line();
    };
    EXPECT_EQ(row("", 74), "exit code 74: its results could not be written; is the disk full?");
    EXPECT_EQ(row("harness: cannot write e: no space\n", 74),
              "exit code 74: harness: cannot write e: no space");
    EXPECT_EQ(row("", 3), "exit code 3");
}

TEST(Ending, WordsForMemoryAndForATestsOwnLimit) {
    ProcessEnd kill = kKill;
    EXPECT_EQ(explain(kill), "killed by SIGKILL, not sent by the runner");
    kill.peak_rss_bytes = 6'657'199'309;
    EXPECT_EQ(explain(kill), "killed by SIGKILL, not sent by the runner")
        << "a peak alone says nothing";
    EXPECT_THAT(explain(kSegv), Not(HasSubstr("memory")));

    const ProcessEnd memory{ProcessEnd::Kind::out_of_memory, 0, "grew to 6.2 GiB, past 6 GiB"};
    EXPECT_EQ(explain(memory), "grew to 6.2 GiB, past 6 GiB (limits.memory)");
    const Failure f = crash_excerpt("working\n", memory, kName);
    EXPECT_EQ(f.key_line(), "out of memory: grew to 6.2 GiB, past 6 GiB (limits.memory)");

    ProcessEnd test = kTimeout;
    test.of_test = true;
    EXPECT_EQ(explain(test), "timed out after 2.0s (limits.test_timeout)");
}

}  // namespace
}  // namespace compat::parsers::crash_excerpt_test
