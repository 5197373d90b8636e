#include "runner/run/reporting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runner/store/database.h"
#include "tests/support/temp_tree.h"

namespace compat::run {
namespace {

// The hold lasts until the note is printed: the first try gives up after 200 ms.
TEST(Reporting, NotesThatTheGapLogWaitsForTheDatabase) {
    test::TempTree tree;
    const auto file = tree.root() / "runner.db";
    auto store = store::Store::open(file, store::Store::Mode::read_write).value();
    store::RunInfo info;
    info.id = info.suite = info.series = "r";
    info.folder = "runs/r";
    ASSERT_TRUE(store.begin_run(info));
    ASSERT_TRUE(store.finish_run("r", {}));
    auto holder = store::Database::open(file, store::Database::Mode::read_write,
                                        std::chrono::milliseconds(1000));
    holder.execute("BEGIN IMMEDIATE");
    std::filesystem::create_directories(tree.root() / "runs/r");
    testing::internal::CaptureStderr();
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        holder.execute("ROLLBACK");
    });
    const auto reported = report_run(store, {"r", tree.root(), tree.root() / "runs/r", {}});
    release.join();
    EXPECT_TRUE(reported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "runner: waiting for another process to release the database\n");
}

}  // namespace
}  // namespace compat::run
