// The event loop with real children: starts, ends, output, environment and interrupts. Not here:
// the order of decisions (executor_test.cc), time limits and leaks (endings_test.cc).
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/base/process/termination.h"
#include "tests/exec/children_fixture.h"

namespace compat::exec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using test_support::ChildrenTest;
using test_support::kHour;

TEST_F(ChildrenTest, NamesEveryKindOfEnd) {
    add({"exit", "0"});
    add({"exit", "3"});
    add({"crash", "SIGSEGV"});
    add({"crash", "SIGKILL"});
    run();
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_EQ(how(1), "exit code 3");
    EXPECT_EQ(how(2), "SIGSEGV");
    EXPECT_EQ(how(3), "SIGKILL");
    EXPECT_THAT(log(0), HasSubstr("out\n"));
    EXPECT_THAT(log(0), HasSubstr("err\n"));
    EXPECT_GT(finished[0].cost.max_rss_bytes, 1 << 20);
    EXPECT_GT(finished[0].cost.user_s + finished[0].cost.system_s, 0);
}

TEST_F(ChildrenTest, ReportsAMissingProgramAsAFailedSpawn) {
    add({"exit", "0"});
    jobs[0].argv[0] = "/nonexistent/python";
    add({"exit", "0"});
    run();
    EXPECT_THAT(how(0), HasSubstr("cannot start /nonexistent/python: No such file"));
    EXPECT_EQ(how(1), "exit code 0");
}

TEST_F(ChildrenTest, TerminatesAHangAndKillsAChildThatIgnoresSigterm) {
    add({"hang"}, kHour);
    add({"ignore-term"}, kHour);
    skip_when([this] { return log(0) == "hanging\n" && log(1) == "ignoring\n"; }, kHour);
    run();
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_THAT(how(1), StartsWith("timed out"));
    EXPECT_EQ(log(0), "hanging\n");
    EXPECT_LT(wall_time(1), kHour + std::chrono::seconds(300)) << "it sleeps for 600 s";
}

TEST_F(ChildrenTest, DropsTheMiddleOfAFlood) {
    add({"flood", "300000"});
    jobs[0].log_bytes = 100'000;
    run();
    EXPECT_EQ(finished[0].cost.dropped_log_bytes, 3'000'000 - 100'000);
    EXPECT_THAT(log(0), StartsWith("000000000\n"));
    EXPECT_THAT(log(0), testing::EndsWith("000299999\n"));
    EXPECT_LT(log(0).size(), 100'200u);
}

TEST_F(ChildrenTest, GivesAChildOnlyItsOwnEnvironmentArgumentsAndDescriptors) {
    add({"environment", "a b", "*", ""});
    run();
    const auto seen = nlohmann::json::parse(log(0));
    EXPECT_EQ(seen["argv"], nlohmann::json::parse(R"(["a b", "*", ""])"));
    EXPECT_EQ(seen["env"]["ONLY"], "this");
    EXPECT_FALSE(seen["env"].contains("HOME"));
    EXPECT_EQ(seen["cwd"], std::filesystem::canonical(dir).string());
    EXPECT_EQ(seen["sid_is_own"], true);
    EXPECT_EQ(seen["stdin"], "");
    EXPECT_EQ(seen["blocked"], nlohmann::json::array());
    // 0, 1, 2 and the descriptor that lists the folder.
    EXPECT_EQ(seen["fds"].size(), 4u) << seen["fds"];
    const auto ignored = std::stoull(seen["sigpipe_default"].get<std::string>(), nullptr, 16);
    EXPECT_EQ(ignored & (1ull << (SIGHUP - 1)), 0u);
}

TEST_F(ChildrenTest, GivesAChildItsKeyOnStdinAlone) {
    add({"environment"});
    jobs[0].key = "0123456789abcdef";
    run();
    auto seen = nlohmann::json::parse(log(0));
    EXPECT_EQ(seen["stdin"], jobs[0].key);
    EXPECT_EQ(seen["fds"].size(), 4u) << seen["fds"];
    seen.erase("stdin");
    EXPECT_EQ(seen.dump().find(jobs[0].key), std::string::npos);
}

TEST_F(ChildrenTest, EndsChildrenOnAnInterruptAndListsJobsNotStarted) {
    add({"hang"});
    add({"hang"});
    add({"exit", "0"});
    int started = 0;
    run(2, [&](const RunEvent& event) {
        if (std::holds_alternative<JobStarted>(event) && ++started == 2) ::kill(::getpid(), SIGINT);
    });
    EXPECT_EQ(how(0), "interrupted by SIGINT");
    EXPECT_EQ(how(1), "interrupted by SIGINT");
    EXPECT_TRUE(ended.stopped);
    EXPECT_THAT(ended.not_started, testing::ElementsAre(2u));
}

TEST_F(ChildrenTest, AnInterruptAfterTheLastJobIsLeftForWhoComesNext) {
    add({"exit", "0"});
    run(1, [](const RunEvent& event) {
        if (std::holds_alternative<RunFinished>(event)) ::kill(::getpid(), SIGTERM);
    });
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_FALSE(ended.stopped);
    EXPECT_TRUE(is_termination_pending());
    add({"hang"});
    run(1);
    EXPECT_TRUE(ended.stopped) << "the next loop handles it";
    EXPECT_FALSE(is_termination_pending());
}

TEST_F(ChildrenTest, StopsTheRunWhenALogCannotBeWritten) {
    add({"exit", "0"});
    add({"exit", "0"});
    jobs[0].log = dir / "none" / "log";
    run(1);
    ASSERT_TRUE(finished[0].infrastructure_error);
    EXPECT_EQ(finished[0].infrastructure_error->kind, ErrorKind::io);
    EXPECT_TRUE(ended.stopped);
}

TEST_F(ChildrenTest, AFileInThePlaceOfAJobsStopsThatJobAlone) {
    add({"exit", "0"});
    add({"exit", "0"});
    add({"exit", "0"});
    (void)write_file(dir / "users", "the user's");
    std::filesystem::create_symlink(dir / "users", dir / "job0.log");
    std::filesystem::create_symlink(dir, dir / "job1.written");
    jobs[1].writable = dir / "job1.written";
    run(1);
    EXPECT_FALSE(ended.stopped);
    EXPECT_FALSE(finished[0].infrastructure_error);
    EXPECT_THAT(how(0), testing::HasSubstr("job0.log: cannot write: it is a link"));
    EXPECT_THAT(how(1), testing::HasSubstr("job1.written: cannot create the folder: it is a link"));
    EXPECT_EQ(finished[2].end.kind, ProcessEnd::Kind::exited);
    EXPECT_EQ(read_file(dir / "users"), "the user's");
}

TEST_F(ChildrenTest, FoldersThatAreGoneAreMadeForEachJob) {
    add({"exit", "0"});
    jobs[0].log = {dir, "modules/a/1.log"};
    jobs[0].writable = {dir, "modules/a/1.written"};
    run(1);
    EXPECT_EQ(finished[0].end.kind, ProcessEnd::Kind::exited);
    EXPECT_TRUE(std::filesystem::is_directory(dir / "modules/a/1.written"));
}

TEST_F(ChildrenTest, ReportsProgressWhileAChildRuns) {
    add({"hang"}, kHour);
    skip_when([this] { return progress_of.contains(0); }, kHour);
    jobs[0].events = dir / "events";
    (void)write_file(dir / "events", R"({"event":"collected","pid":5,"id":"a"})"
                                     "\n"
                                     R"({"event":"start","pid":5,"id":"a"})"
                                     "\n");
    std::vector<Progress> seen;
    run(1, [&](const RunEvent& event) {
        if (const auto* progress = std::get_if<JobProgress>(&event))
            seen.push_back(progress->progress);
    });
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].collected, 1);
    EXPECT_EQ(seen[0].current, "a");
    EXPECT_GT(seen[0].since.time_since_epoch().count(), 0);
}

}  // namespace
}  // namespace compat::exec
