// The event loop over real children: what is decided in executor_test is seen to happen here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/base/files.h"
#include "runner/exec/launcher_posix.h"
#include "runner/exec/loop.h"
#include "tests/support/temp_tree.h"

namespace compat::exec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ChildrenTest : public testing::Test {
  protected:
    Job job(std::vector<std::string> words) {
        Job job;
        job.name = "job" + std::to_string(jobs.size());
        job.argv = {"/usr/bin/python3", COMPAT_SOURCE_DIR "/tests/children/child.py"};
        job.argv.insert(job.argv.end(), words.begin(), words.end());
        job.cwd = dir;
        job.env = {{"PATH", "/usr/bin:/bin"}, {"ONLY", "this"}};
        job.log = dir / (job.name + ".log");
        job.events = dir / (job.name + ".events");
        return job;
    }
    void add(std::vector<std::string> words, Milliseconds timeout = Milliseconds(60'000)) {
        jobs.push_back(job(std::move(words)));
        jobs.back().timeout = timeout;
    }
    // As the recorder does: a log that cannot be written stops the run.
    void run(int parallel = 2, std::function<void(const RunEvent&)> also = {}) {
        Settings settings;
        settings.parallel = parallel;
        settings.term_grace = Milliseconds(200);
        run_jobs(jobs, settings, SystemClock(), [&](const RunEvent& event) -> Reply {
            Reply reply;
            if (const auto* done = std::get_if<JobFinished>(&event)) {
                finished[done->job] = *done;
                if (done->trouble) reply.stop = to_line(*done->trouble);
            }
            if (const auto* end = std::get_if<RunFinished>(&event)) ended = *end;
            if (also) also(event);
            return reply;
        });
    }
    std::string log(size_t index) { return read_file(jobs[index].log).value(); }
    std::string how(size_t index) { return describe(finished.at(index).outcome); }

    test::TempTree tree;
    const std::filesystem::path& dir = tree.root();
    std::vector<Job> jobs;
    std::map<size_t, JobFinished> finished;
    RunFinished ended;
};

TEST_F(ChildrenTest, EachEndIsNamed) {
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
    EXPECT_GT(finished[0].usage.max_rss_bytes, 1u << 20);
    EXPECT_GT(finished[0].usage.user_s + finished[0].usage.system_s, 0);
}

TEST_F(ChildrenTest, AProgramThatIsNotThereIsSpawnFailed) {
    add({"exit", "0"});
    jobs[0].argv[0] = "/nonexistent/python";
    add({"exit", "0"});
    run();
    EXPECT_THAT(how(0), HasSubstr("cannot start /nonexistent/python: No such file"));
    EXPECT_EQ(how(1), "exit code 0");
}

TEST_F(ChildrenTest, AHangIsTimedOutAndOneThatIgnoresTermIsKilled) {
    add({"hang"}, Milliseconds(300));
    add({"ignore-term"}, Milliseconds(300));
    run();
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_THAT(how(1), StartsWith("timed out"));
    EXPECT_EQ(log(0), "hanging\n");
    EXPECT_LT(finished[1].duration.count(), 10);
}

TEST_F(ChildrenTest, AFloodIsCutInTheMiddle) {
    add({"flood", "300000"});
    jobs[0].log_bytes = 100'000;
    run();
    EXPECT_EQ(finished[0].dropped_log_bytes, 3'000'000u - 100'000u);
    EXPECT_THAT(log(0), StartsWith("000000000\n"));
    EXPECT_THAT(log(0), testing::EndsWith("000299999\n"));
    EXPECT_LT(log(0).size(), 100'200u);
}

TEST_F(ChildrenTest, AGrandchildThatHoldsTheOutputIsNamedAndKilled) {
    add({"leak"});
    run();
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_EQ(log(0), "leader done\n");
    // The shell, and the sleep it may have started by then.
    ASSERT_FALSE(finished[0].leaked.empty());
    EXPECT_THAT(finished[0].leaked[0].argv, testing::Contains("the-leaked-one"));
    EXPECT_LT(finished[0].duration.count(), 30);
    for (const auto& leaked : finished[0].leaked) {
        // Killed; at most a zombie that init has yet to collect.
        const auto gone = [&] {
            const auto stat = read_file("/proc/" + std::to_string(leaked.pid) + "/stat");
            return !stat || stat->find(") Z ") != std::string::npos;
        };
        for (int i = 0; i < 100 && !gone(); ++i) std::this_thread::sleep_for(Milliseconds(20));
        EXPECT_TRUE(gone()) << leaked.pid;
    }
}

TEST_F(ChildrenTest, AChildSeesWhatItWasGivenAndNothingElse) {
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
    // 0, 1, 2 and the one that lists the folder: nothing of ours leaks in.
    EXPECT_EQ(seen["fds"].size(), 4u) << seen["fds"];
    const auto ignored = std::stoull(seen["sigpipe_default"].get<std::string>(), nullptr, 16);
    EXPECT_EQ(ignored & (1ull << (SIGHUP - 1)), 0u);
}

TEST_F(ChildrenTest, AnInterruptEndsTheChildrenAndNamesWhatNeverRan) {
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

TEST_F(ChildrenTest, ALogThatCannotBeWrittenStopsTheRun) {
    add({"flood", "1000"});
    add({"exit", "0"});
    jobs[0].log = "/dev/full";
    run(1);
    ASSERT_TRUE(finished[0].trouble);
    EXPECT_EQ(finished[0].trouble->kind, ErrorKind::io);
    EXPECT_TRUE(ended.stopped);
}

TEST_F(ChildrenTest, ProgressIsReportedWhileAChildRuns) {
    add({"hang"}, Milliseconds(1500));
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
    EXPECT_EQ(seen[0], (Progress{1, 0, false, "a"}));
}

}  // namespace
}  // namespace compat::exec
