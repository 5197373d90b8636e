// Ownership and survivors with real processes. Not here: each rule by itself
// (process_owners_test.cc).
#include "runner/exec/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/exec/sleeper.h"

namespace compat::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using test_support::end_sleeper;
using test_support::Parent;
using test_support::start_sleeper;
using test_support::Tagged;

TEST(Processes, AssignsAnOrphanByItsVariableOrToTheOnlyJob) {
    Processes processes;
    const int leader = start_sleeper("COMPAT_JOB=r/1", Parent::is_the_test);
    processes.add(leader, "r/1");
    EXPECT_FALSE(processes.has_orphans(leader));

    const int next = start_sleeper("COMPAT_JOB=r/2", Parent::has_ended);
    processes.expect("r/2");
    EXPECT_TRUE(processes.has_orphans(leader));
    processes.scan();
    EXPECT_THAT(processes.descendants_of(leader), IsEmpty()) << "it is expected as a job";
    processes.add(next, "r/2");
    EXPECT_FALSE(processes.has_orphans(leader));

    const int own = start_sleeper("COMPAT_JOB=r/1", Parent::has_ended);
    const int foreign = start_sleeper("COMPAT_JOB=another run's/1", Parent::has_ended);
    const auto descendants_of = [&](int job) {
        std::vector<int> pids;
        for (const auto& left : processes.descendants_of(job)) pids.push_back(left.pid);
        return pids;
    };
    processes.scan();
    EXPECT_THAT(descendants_of(leader), ElementsAre(own));
    EXPECT_THAT(descendants_of(next), IsEmpty())
        << "the orphan of another run may belong to either job";
    EXPECT_GT(processes.rss_bytes(leader), processes.rss_bytes(next));

    end_sleeper(own);
    end_sleeper(next);
    processes.remove(next);
    processes.scan();
    EXPECT_THAT(descendants_of(leader), ElementsAre(foreign));
    EXPECT_TRUE(processes.has_orphans(leader));
    end_sleeper(foreign);
    EXPECT_FALSE(processes.has_orphans(leader));
    end_sleeper(leader);
}

TEST(Processes, LeaveAChildThatStartsApartToItsOwner) {
    Processes processes;
    const int leader = start_sleeper("COMPAT_JOB=r/1", Parent::is_the_test);
    processes.add(leader, "r/1");
    const int apart = start_apart([] { return start_sleeper("A=b", Parent::is_the_test); });
    EXPECT_FALSE(processes.has_orphans(leader));
    processes.scan();
    EXPECT_THAT(processes.descendants_of(leader), IsEmpty());
    ::kill(apart, SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(apart), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(processes.has_orphans(leader));
    processes.scan();
    EXPECT_EQ(::waitpid(apart, nullptr, 0), apart) << "nobody else has reaped it";
    EXPECT_EQ(start_apart([] { return 0; }), 0);
    end_sleeper(leader);
}

TEST(Processes, SignalsOnlyTheProcessOfTheGivenStart) {
    const int pid = start_sleeper("A=1", Parent::is_the_test);
    const auto stat = process_table().find(pid);
    ASSERT_TRUE(stat);
    process_table().signal(pid, stat->start + 1, SIGKILL);
    std::this_thread::sleep_for(Milliseconds(50));
    EXPECT_FALSE(process_table().find(pid)->ended);
    process_table().signal(pid, stat->start, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Survivors, FindsThemByTheMarkOrTheVariableOfTheirRun) {
    const std::string run = "r.1-" + std::to_string(::getpid()), other = run + "0";
    const auto start_marked = [](const std::string& name) {
        const Tagged marked(name);
        return start_sleeper(nullptr, Parent::has_ended);
    };
    const int cleared = start_marked(run), of_other = start_marked(other);
    const int named = start_sleeper(("COMPAT_JOB=" + run + "/1").c_str(), Parent::has_ended);
    const int named_by_other =
        start_sleeper(("COMPAT_JOB=" + other + "/1").c_str(), Parent::has_ended);

    std::vector<int> ended;
    for (const auto& process : end_survivors(run)) {
        EXPECT_TRUE(process.killed);
        ended.push_back(process.pid);
    }
    EXPECT_THAT(ended, testing::UnorderedElementsAre(cleared, named));
    for (const int pid : {of_other, named_by_other}) {
        EXPECT_FALSE(process_table().find(pid)->ended);
        ::kill(pid, SIGKILL);
    }
}

}  // namespace
}  // namespace compat::exec
