// Warm start with the real zygote (runner/harness) on the real event loop, and the cold start that
// replaces it on any failure.
#include "runner/exec/zygote.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "runner/exec/process_table.h"
#include "tests/exec/children_fixture.h"
#include "tests/paths.h"

namespace compat::exec {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using test_support::kHour;

class ZygoteTest : public test_support::ChildrenTest {
  protected:
    ZygoteTest() {
        zygote.job.name = "zygote";
        zygote.job.id = run_id + "/zygote-process";
        zygote.job.argv = {"/usr/bin/python3", kHarness, "--zygote", "3", "unittest", dir};
        zygote.job.cwd = dir;
        zygote.job.common_env = common;
        zygote.job.env = {{"COMPAT_JOB", zygote.job.id}};
        zygote.job.log = dir / "zygote.log";
    }
    // A module with one test.
    Job& module(const std::string& name, const std::string& body, bool warm = true) {
        tree.write("test_" + name + ".py",
                   "import os, signal, subprocess, sys, time, unittest\n\n"
                   "class T(unittest.TestCase):\n    def test(self):\n        " +
                       body + "\n");
        Job& job = add({});
        job.argv = {"/usr/bin/python3",     kHarness, "--framework", "unittest", "--module",
                    "test_" + name + ".py", "--root", dir,           "--events", job.events.path()};
        job.common_env = common;
        job.env = {{"COMPAT_JOB", job.id}};
        job.warm = warm;
        return job;
    }
    void preload(const std::string& body) {
        tree.write("imported_first.py", body);
        zygote.job.argv.push_back("imported_first");
    }
    void run_warm(int parallel = 2, const std::function<void(const RunEvent&)>& also = {}) {
        run(parallel, also, zygote);
    }
    [[nodiscard]] int pid_of_the_zygote() const {
        for (const int pid : process_table().pids())
            if (process_table().environment_value(pid, "COMPAT_JOB") == zygote.job.id) return pid;
        return 0;
    }
    [[nodiscard]] bool the_zygote_ends() const {
        return wait_until([this] { return pid_of_the_zygote() == 0; });
    }
    static long descriptors() {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    }

    static constexpr const char* kHarness = COMPAT_SOURCE_DIR "/runner/harness/main.py";
    std::shared_ptr<const Variables> common = std::make_shared<Variables>(
        Variables{{"PATH", "/usr/bin:/bin"}, {"PYTHONDONTWRITEBYTECODE", "1"}});
    Zygote zygote;
};

TEST_F(ZygoteTest, LeavesNoZombieAfterARun) {
    const std::vector<int> before = process_table().children();
    preload("import os\n");
    for (int i = 0; i < 2; ++i) module("a" + std::to_string(i), "pass");
    run_warm();
    EXPECT_TRUE(finished.at(0).forked);
    for (const int pid : process_table().children()) {
        const auto child = process_table().find(pid);
        const bool is_new = std::find(before.begin(), before.end(), pid) == before.end();
        EXPECT_FALSE(is_new && child && child->ended) << pid;
    }
}

TEST_F(ZygoteTest, MayImportBeforeItsRun) {
    // More output than a pipe holds: the run takes it.
    preload("print('x' * 100_000)\n");
    zygote.early = EarlyZygote::start(zygote.job).value();
    ASSERT_TRUE(zygote.early);
    module("prints", "print(os.getppid())");
    module("passes", "pass");
    run_warm();
    EXPECT_THAT(notes, IsEmpty());
    for (const auto& [index, done] : finished) {
        EXPECT_TRUE(done.forked);
        EXPECT_EQ(how(index), "exit code 0");
    }
    EXPECT_EQ(read_file(zygote.job.log).value_or("").size(), 100'001u);
    EXPECT_TRUE(the_zygote_ends());
}

TEST_F(ZygoteTest, SaysWhyItCannotStart) {
    zygote.job.cwd = "/no such folder";
    const auto early = EarlyZygote::start(zygote.job);
    ASSERT_FALSE(early);
    EXPECT_THAT(early.error().message, HasSubstr("no such folder"));
    module("passes", "pass");
    module("passes_too", "pass");
    run_warm();
    EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("warm start disabled"),
                                         HasSubstr("no such folder: /no such folder"))));
    EXPECT_EQ(how(0), "exit code 0");
}

TEST_F(ZygoteTest, EndsIfNoRunTakesIt) {
    preload("import time; time.sleep(600)\n");
    zygote.early = EarlyZygote::start(zygote.job).value();
    ASSERT_TRUE(zygote.early);
    ASSERT_TRUE(wait_until([this] { return pid_of_the_zygote() > 0; }));
    zygote.early.reset();
    EXPECT_EQ(pid_of_the_zygote(), 0);
}

TEST_F(ZygoteTest, ReportsTheEndOfTheForkedProcessItself) {
    module("passes", "pass");
    module("exits", "os._exit(3)");
    module("dies", "os.kill(os.getpid(), signal.SIGSEGV)");
    module("fails", "print('said'); self.fail()");
    run_warm();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_EQ(how(1), "exit code 3");
    EXPECT_EQ(how(2), "SIGSEGV");
    EXPECT_EQ(how(3), "exit code 1");
    EXPECT_THAT(log(2), HasSubstr("Fatal Python error: Segmentation fault"));
    EXPECT_THAT(log(3), AllOf(HasSubstr("said"), HasSubstr("FAILED (failures=1)")));
    for (const auto& [index, done] : finished) {
        EXPECT_TRUE(done.forked);
        EXPECT_GT(done.cost.user_s + done.cost.system_s, 0);
        EXPECT_LT(done.cost.user_s + done.cost.system_s, 2);
        EXPECT_GT(done.cost.max_rss_bytes, 1u << 20);
        EXPECT_THAT(done.leaked, IsEmpty());
    }
    EXPECT_TRUE(the_zygote_ends());
}

TEST_F(ZygoteTest, ForksOnlyWarmJobsOfTheSameSetup) {
    module("warm", "pass");
    module("cold", "pass", false);
    module("elsewhere", "pass").common_env = std::make_shared<Variables>(*common);
    run_warm();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_TRUE(finished[0].forked);
    EXPECT_FALSE(finished[1].forked);
    EXPECT_FALSE(finished[2].forked);
    for (const auto& [index, done] : finished) EXPECT_EQ(how(index), "exit code 0");
}

TEST_F(ZygoteTest, LimitsForkedProcessesLikeAnyChild) {
    settings.dump_grace = kHour;
    module("hangs", "print('hanging', flush=True); time.sleep(600)").timeout = kHour;
    skip_when(logged(0, "hanging"), kHour);
    skip_when(logged(0, "test_hangs.py"), settings.dump_grace);
    module("grows", "x = bytearray(300 << 20); time.sleep(60)").memory_bytes = 200u << 20;
    module("leaks", "subprocess.Popen(['sleep', '601'])");
    module("daemonises",
           "os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(600)); os.wait()");
    run_warm();
    EXPECT_EQ(how(0), "timed out after 1h 00m");
    EXPECT_THAT(log(0), AllOf(HasSubstr("most recent call first"), HasSubstr("test_hangs.py")));
    EXPECT_EQ(finished[1].end.kind, ProcessEnd::Kind::out_of_memory) << how(1);
    EXPECT_THAT(leaked_by(2), ElementsAre("sleep 601 "));
    EXPECT_EQ(how(2), "exit code 0");
    // It called no exec, so it shows the command line of its job, as far as it fits.
    EXPECT_THAT(leaked_by(3), ElementsAre(HasSubstr("main.py --framework unittest --module test")));
    for (const auto& [index, done] : finished) EXPECT_TRUE(done.forked);
}

TEST_F(ZygoteTest, NamesFailedImportsAndSpawnsEveryJob) {
    preload("raise ImportError('no such accelerator')\n");
    module("passes", "pass");
    run_warm();
    EXPECT_THAT(notes, ElementsAre("warm start disabled: the import process ended: exit code 1: "
                                   "ImportError: no such accelerator"));
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_FALSE(finished[0].forked);
}

TEST_F(ZygoteTest, GivesUpOnImportsThatHang) {
    preload("import time; time.sleep(600)\n");
    zygote.import_timeout = Milliseconds(700);
    module("passes", "pass");
    run_warm();
    EXPECT_THAT(notes, ElementsAre("warm start disabled: the imports took longer than 0.7s"));
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_TRUE(the_zygote_ends());
}

TEST_F(ZygoteTest, DoesNotForkAfterImportsThatStartThreads) {
    preload(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n");
    module("passes", "pass");
    run_warm();
    EXPECT_THAT(notes, ElementsAre("warm start disabled: the imports started threads (2 in all), "
                                   "which a fork would lose"));
    EXPECT_FALSE(finished[0].forked);
}

TEST_F(ZygoteTest, EndsTheImportsOnAnInterrupt) {
    preload("import time; print('importing', flush=True); time.sleep(600)\n");
    module("never", "pass");
    bool interrupted = false;
    const auto begin = std::chrono::steady_clock::now();
    run_warm(2, [&](const RunEvent&) {
        const std::string text = read_file(zygote.job.log).value_or("");
        if (text != "importing\n" || std::exchange(interrupted, true)) return;
        ::kill(::getpid(), SIGINT);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300))
        << "the imports take 600 s";
    EXPECT_TRUE(ended.stopped);
    EXPECT_THAT(ended.not_started, ElementsAre(0u));
    EXPECT_TRUE(the_zygote_ends());
}

TEST_F(ZygoteTest, KeepsRunningJobsAndSpawnsTheOthersWhenTheZygoteDies) {
    module("runs", "while not os.path.exists('noted'): time.sleep(0.01)");
    module("later", "pass");
    module("last", "pass");
    run_warm(1, [&](const RunEvent& event) {
        const auto* started = std::get_if<JobStarted>(&event);
        if (started && started->job == 0) ::kill(pid_of_the_zygote(), SIGKILL);
        if (std::holds_alternative<Note>(event)) tree.write("noted");
    });
    EXPECT_THAT(notes, ElementsAre("warm start disabled for the remaining jobs: the import process "
                                   "ended: SIGKILL"));
    for (size_t index : {0, 1, 2}) EXPECT_EQ(how(index), "exit code 0");
    EXPECT_TRUE(finished[0].forked);
    EXPECT_FALSE(finished[1].forked);
    EXPECT_FALSE(finished[2].forked);
}

TEST_F(ZygoteTest, SpawnsTheJobWhenTheZygoteDoesNotAnswer) {
    zygote.answer_timeout = Milliseconds(300);
    // The first fork is the zygote's check of itself, before it is ready.
    preload(
        "import os, time\n"
        "forks = []\n"
        "os.register_at_fork(before=lambda: forks.append(1) or len(forks) > 1 and "
        "time.sleep(600))\n");
    module("first", "pass");
    module("second", "pass");
    run_warm(1);
    EXPECT_THAT(notes, ElementsAre("warm start disabled for the remaining jobs: the import process "
                                   "does not answer"));
    for (const size_t index : {0, 1}) {
        EXPECT_FALSE(finished[index].forked);
        EXPECT_EQ(how(index), "exit code 0");
    }
    EXPECT_TRUE(the_zygote_ends());
}

TEST_F(ZygoteTest, LeavesNoDescriptorOpenAfterManyForks) {
    module("passes", "pass");
    run_warm();
    const long before = descriptors();
    const Job one = jobs.front();
    jobs.assign(60, one);
    for (size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].id = run_id + "/" + std::to_string(i);
        jobs[i].env = {{"COMPAT_JOB", jobs[i].id}};
        jobs[i].events = dir / (std::to_string(i) + ".events");
        jobs[i].log = dir / (std::to_string(i) + ".log");
    }
    run_warm();
    EXPECT_EQ(descriptors(), before);
    EXPECT_EQ(finished.size(), 60u);
    for (const auto& [index, done] : finished)
        EXPECT_TRUE(done.forked && how(index) == "exit code 0") << index << log(index);
}

}  // namespace
}  // namespace compat::exec
