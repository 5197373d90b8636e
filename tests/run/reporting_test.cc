#include "runner/run/reporting/reporting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "runner/base/exit_code.h"
#include "runner/store/database.h"
#include "runner/store/gaps.h"
#include "tests/support/temp_tree.h"

namespace compat::run {
namespace {

class Reporting : public testing::Test {
  protected:
    // A run of one test that passed.
    void store_run(const std::string& id) {
        store::RunInfo info;
        info.id = id;
        info.suite = info.series = "s";
        info.device = "mps";
        info.torch = "2.13.0";
        info.folder = "runs/" + id;
        store::JobResult job;
        job.record.path = "a.py";
        job.record.outcome = parsers::ModuleOutcome::completed;
        job.record.shim = parsers::ShimSession{"0.1.0", "2.13.0", "mps", "missing", "", false};
        job.record.kernels = {{"a.py::t", "mps", 1}};
        auto& test = job.record.cases.emplace_back();
        test.id = test.name = "a.py::t";
        test.state = parsers::State::passed;
        ASSERT_TRUE(store.begin_run(info));
        ASSERT_TRUE(store.save_job(id, job));
        ASSERT_TRUE(store.finish_run(id, {}));
        std::filesystem::create_directories(tree.root() / info.folder);
    }
    Expected<void> report(const std::string& id) {
        return report_run(store, {id, tree.root(), tree.root() / "runs" / id, {}});
    }

    test::TempTree tree;
    std::filesystem::path file = tree.root() / "runner.db";
    store::Store store = store::Store::open(file, store::Store::Mode::read_write).value();
    store::Database other = store::Database::open(file, store::Database::Mode::read_write,
                                                  std::chrono::milliseconds(1000));
};

// The hold lasts until the note is printed: the first try gives up after 200 ms.
TEST_F(Reporting, NotesThatTheGapLogWaitsForTheDatabase) {
    store_run("r");
    other.execute("BEGIN IMMEDIATE");
    testing::internal::CaptureStderr();
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        other.execute("ROLLBACK");
    });
    const auto reported = report("r");
    release.join();
    EXPECT_TRUE(reported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "runner: waiting for another process to release the database\n");
}

TEST_F(Reporting, ComparesTheRunWithWhatWasWrittenWhileItWaited) {
    store_run("r1");
    store_run("r2");
    const GapKey graph{"torch.cuda.CUDAGraph", GapKind::missing_symbol, "mps", false};
    other.execute("BEGIN IMMEDIATE");
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        other.execute(R"sql(
            INSERT INTO gap (symbol, kind, device, simulated, equivalent, description, severity,
                             action, scanned, first_seen, first_torch, last_seen, last_torch)
            VALUES ('torch.cuda.CUDAGraph', 'missing_symbol', 'mps', 0, '', '', 'minor', '', 0, 'r1',
                    '2.13.0', 'r1', '2.13.0'))sql");
        other.execute(R"sql(
            INSERT INTO gap_hit (gap, run, test, file, line, count, blocks)
            SELECT gap.id, run.id, 'a.py::t', '', 0, 1, 1 FROM gap, run WHERE run.name = 'r1')sql");
        other.execute("COMMIT");
    });
    EXPECT_TRUE(report("r2"));
    release.join();
    const auto gaps = store::GapLog(store).gaps();
    ASSERT_TRUE(gaps) << to_line(gaps.error());
    ASSERT_EQ(gaps->size(), 1u);
    EXPECT_EQ(gaps->front().facts.key, graph);
    EXPECT_EQ(gaps->front().status, "fixed");
    EXPECT_EQ(gaps->front().closed_by, "r2");
}

TEST_F(Reporting, WritesTheReportsIfItIsInterruptedWhileItWaits) {
    store_run("r");
    other.execute("BEGIN IMMEDIATE");
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &interrupt, &before), 0);
    ::pthread_kill(::pthread_self(), SIGINT);
    const auto reported = report("r");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    other.execute("ROLLBACK");
    ASSERT_FALSE(reported);
    EXPECT_EQ(exit_code_of(reported.error().kind), ExitCode::interrupted);
    EXPECT_EQ(reported.error().advice, "`runner reparse r --apply` adds its gaps");
    EXPECT_TRUE(std::filesystem::exists(tree.root() / "latest/report.md"));
    EXPECT_TRUE(store.load_run("r")->end);
    EXPECT_TRUE(report("r"));
}

}  // namespace
}  // namespace compat::run
