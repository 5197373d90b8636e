// Each rule of ownership (processes.h) by itself, with a fake process table. Not here: real
// processes (processes_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "runner/exec/processes.h"
#include "tests/exec/fake_process_table.h"

namespace compat::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OwnersTest : public testing::Test {
  protected:
    using FakeProcessTable = test_support::FakeProcessTable;
    explicit OwnersTest(bool adopts = true) {
        system.adopts = adopts;
        system.self = ::getpid();
        system.add(system.self, 1);
        system.add(kBefore, system.self);
        processes.emplace(system);
        for (const int leader : {kFirst, kSecond}) {
            system.add(leader, system.self, 10);
            processes->add(leader, "run/" + std::to_string(leader));
        }
    }
    FakeProcessTable::Process& add(int pid, int parent) { return system.add(pid, parent, 20); }
    std::vector<int> descendants_of(int leader) {
        processes->scan();
        std::vector<int> pids;
        for (const auto& left : processes->descendants_of(leader)) pids.push_back(left.pid);
        std::sort(pids.begin(), pids.end());
        return pids;
    }

    static constexpr int kBefore = 1'000'001, kFirst = 1'000'002, kSecond = 1'000'003;
    FakeProcessTable system;
    std::optional<Processes> processes;
};

TEST_F(OwnersTest, KeepsADescendantWithItsJobAfterItsParentsEnd) {
    add(50, kFirst);
    add(51, 50);
    add(60, kSecond);
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50, 51));
    system.processes.erase(50);
    system.processes[51].info.parent = system.self;
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(51)) << "it was the job's when last seen";
    EXPECT_THAT(descendants_of(kSecond), ElementsAre(60));
}

TEST_F(OwnersTest, AssignsAnOrphanByItsSessionItsVariableOrItsMark) {
    add(50, system.self).info.session = kFirst;
    add(51, system.self).job = "run/" + std::to_string(kSecond);
    add(52, system.self).mark = {run_hash("run"), kSecond};
    add(53, system.self).mark = {run_hash("another run"), kSecond};
    add(54, system.self);  // nothing to assign it by
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50));
    EXPECT_THAT(descendants_of(kSecond), ElementsAre(51, 52));
    EXPECT_TRUE(processes->has_orphans(kFirst));
}

TEST_F(OwnersTest, GivesChildrenOfANamespacesInitToItsJob) {
    constexpr int kOuter = 1'000'100, kInit = 1'000'101, kLeader = 1'000'102;
    system.add(kOuter, system.self, 15);
    system.add(kInit, kOuter, 16);
    system.add(kLeader, kInit, 17);
    processes->add_helper(kOuter);
    processes->add(kLeader, "run/3", kInit);
    EXPECT_FALSE(processes->has_orphans(kLeader));
    add(50, kInit).job = "run/" + std::to_string(kFirst);
    add(51, 50);
    EXPECT_TRUE(processes->has_orphans(kLeader));
    EXPECT_THAT(descendants_of(kLeader), ElementsAre(50, 51)) << "whatever its variable says";
    EXPECT_THAT(descendants_of(kFirst), IsEmpty()) << "nor are the init and what made it a job's";
    EXPECT_EQ(processes->rss_bytes(kLeader), 3000U);
    system.processes[50].info.ended = true;
    system.processes.erase(51);
    EXPECT_FALSE(processes->has_orphans(kLeader)) << "its init has not reaped it yet";
    processes->remove(kLeader);
    EXPECT_THAT(descendants_of(kSecond), IsEmpty());
}

TEST_F(OwnersTest, TreatsAReusedPidAsAnotherProcess) {
    add(50, kFirst);
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50));
    system.add(50, 1, 99).info.session = 1;
    EXPECT_THAT(descendants_of(kFirst), IsEmpty());
}

TEST_F(OwnersTest, IgnoresEarlierChildrenAndDoesNotReapThem) {
    add(50, kBefore);
    system.processes[kBefore].info.ended = true;
    EXPECT_THAT(descendants_of(kFirst), IsEmpty());
    EXPECT_TRUE(system.processes.contains(kBefore));
}

TEST_F(OwnersTest, ReapsZombiesOfAJob) {
    add(50, system.self).info.ended = true;
    EXPECT_TRUE(processes->scan()) << "it reaped one";
    EXPECT_FALSE(system.processes.contains(50));
}

TEST_F(OwnersTest, KillsLeftoversOfAFinishedJobAtEachScan) {
    add(50, kFirst).info.state = 'D';
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50));
    system.processes.erase(kFirst);
    processes->remove(kFirst);
    processes->scan();
    EXPECT_THAT(system.signaled, ElementsAre(50));
}

// As on macOS: orphans become children of process 1.
class OwnersWithoutAdoptionTest : public OwnersTest {
  protected:
    OwnersWithoutAdoptionTest() : OwnersTest(false) {}
};

TEST_F(OwnersWithoutAdoptionTest, FindsAnEscapedOrphanByItsSessionItsVariableOrItsMark) {
    add(50, 1).info.session = kFirst;
    add(51, 1).job = "run/" + std::to_string(kSecond);
    add(52, 51);
    add(53, 1).mark = {run_hash("run"), kSecond};
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50));
    EXPECT_THAT(descendants_of(kSecond), ElementsAre(51, 52, 53));
    EXPECT_TRUE(processes->has_orphans(kFirst));
}

TEST_F(OwnersWithoutAdoptionTest, LeavesOtherProcessesOfTheSystemAlone) {
    processes->remove(kSecond);
    system.processes.erase(kSecond);
    add(50, 1);                                                  // young, but nothing names the job
    add(51, 1).job = "run/1";                                    // of another job
    system.add(52, 1, 5).job = "run/" + std::to_string(kFirst);  // older than the job
    EXPECT_THAT(descendants_of(kFirst), IsEmpty());
    EXPECT_THAT(system.signaled, IsEmpty());
}

TEST_F(OwnersWithoutAdoptionTest, KeepsADescendantWithItsJobAfterItsParentsEnd) {
    add(50, kFirst);
    add(51, 50);
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(50, 51));
    system.processes.erase(50);
    system.processes[51].info.parent = 1;
    EXPECT_THAT(descendants_of(kFirst), ElementsAre(51));
}

TEST(MemoryEvidence, NamesAPeakNearTheLimitOrAKernelKill) {
    test_support::FakeProcessTable system;
    system.kills = 7;
    EXPECT_EQ(memory_evidence(system, 7, 14u << 20), "");
    EXPECT_EQ(memory_evidence(system, 7, 900u << 20), "peak RSS 900 MiB of 1000 MiB");
    EXPECT_EQ(memory_evidence(system, 6, 14u << 20),
              "the kernel's OOM killer ran meanwhile (peak RSS 14 MiB)");
}

TEST(FakeSurvivors, OmitsAProcessThatIsDyingAlready) {
    test_support::FakeProcessTable system;
    system.add(50, 1).job = "run/1";
    system.add(51, 1).job = "run/2";
    system.processes[51].dying = true;
    system.add(52, 51);  // known by its parent
    system.add(53, 1).job = "another/1";
    std::vector<int> named;
    for (const auto& process : end_survivors("run", Milliseconds(1000), system))
        named.push_back(process.pid);
    EXPECT_THAT(named, ElementsAre(50, 52));
    EXPECT_TRUE(system.find(53));
}

TEST(FakeSurvivors, NamesAProcessThatSigkillDoesNotEnd) {
    test_support::FakeProcessTable system;
    auto& stuck = system.add(51, 1);
    stuck.job = "run/2";
    stuck.dying = true;
    stuck.info.state = 'D';
    const auto survivors = end_survivors("run", Milliseconds(30), system);
    ASSERT_EQ(survivors.size(), 1u);
    EXPECT_FALSE(survivors[0].killed);
    EXPECT_EQ(survivors[0].state, "uninterruptible sleep (D)");
}

}  // namespace
}  // namespace compat::exec
