#include "runner/base/process/process_end.h"

#include <gtest/gtest.h>

#include <csignal>

namespace compat {
namespace {

using Kind = ProcessEnd::Kind;

TEST(ProcessEnd, FindsEachKindByItsName) {
    for (size_t i = 0; i < ProcessEnd::kKindNames.size(); ++i) {
        const auto kind = static_cast<Kind>(i);
        EXPECT_EQ(end_kind_of(name_of(kind)), kind);
    }
    EXPECT_FALSE(end_kind_of("ended"));
}

TEST(ProcessEnd, DescribesEachEnd) {
    struct Row {
        ProcessEnd end;
        std::string name, line, words;
    };
    const Row rows[] = {
        {ProcessEnd::exited(3), "exit code 3", "exit code 3", "exit code 3"},
        {ProcessEnd::signaled(SIGSEGV), "SIGSEGV", "SIGSEGV", "SIGSEGV"},
        {ProcessEnd::signaled(99), "signal 99", "signal 99", "signal 99"},
        {ProcessEnd::timed_out(Milliseconds(1000), false), "timed out", "timed out after 1.0s",
         "timed out after 1.0s"},
        {ProcessEnd::timed_out(Milliseconds(1000), true), "timed out", "test timed out after 1.0s",
         "test timed out after 1.0s (limits.test_timeout)"},
        {ProcessEnd::out_of_memory(1 << 30, 3u << 29), "out of memory",
         "grew to 1536 MiB, past its limit of 1024 MiB",
         "grew to 1536 MiB, past its limit of 1024 MiB (limits.memory)"},
        {ProcessEnd::stopped("interrupted by SIGINT"), "interrupted by SIGINT",
         "interrupted by SIGINT", "interrupted by SIGINT"},
        {ProcessEnd::spawn_failed("no such file"), "could not be started", "no such file",
         "could not be started: no such file"},
    };
    for (const auto& [end, name, line, words] : rows) {
        EXPECT_EQ(name_of_end(end), name);
        EXPECT_EQ(describe(end), line);
        EXPECT_EQ(explain(end), words);
    }
}

TEST(ProcessEnd, BlamesMemoryForAKillOnlyWithEvidence) {
    ProcessEnd kill = ProcessEnd::signaled(SIGKILL);
    kill.peak_rss_bytes = 14 << 20;
    EXPECT_EQ(explain(kill), "killed by SIGKILL, not sent by the runner");
    kill = ProcessEnd::signaled(SIGKILL, "peak RSS 6.0 GiB of 6.2 GiB");
    EXPECT_EQ(name_of_end(kill), "SIGKILL");
    EXPECT_EQ(explain(kill),
              "killed by SIGKILL, not sent by the runner: likely out of memory: peak RSS "
              "6.0 GiB of 6.2 GiB");
}

}  // namespace
}  // namespace compat
