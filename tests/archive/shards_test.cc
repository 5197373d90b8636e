// Shards as folders: how results folders list them, name them and keep them out of databases.
#include "runner/archive/shards.h"

#include <gtest/gtest.h>

#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;

class ShardsTest : public ::testing::Test {
  protected:
    // A run of one module, with one attempt that passed one test.
    fs::path write_run(const std::string& id, const std::string& shard, int second) {
        const fs::path folder = results() / "runs" / id;
        tree_.write("results/runs/" + id + "/modules/m.py/1.events.jsonl",
                    R"({"event":"session","pid":7,"seq":0,"format":1,"framework":"unittest"}
{"event":"collected","pid":7,"seq":1,"id":"m.py::A::a","name":"a","file":"m.py","line":1}
{"event":"ready","pid":7,"seq":2,"collected":1}
{"event":"start","pid":7,"seq":3,"id":"m.py::A::a","time":1}
{"event":"end","pid":7,"seq":4,"id":"m.py::A::a","state":"passed","phase":"call","duration_s":1}
{"event":"finish","pid":7,"seq":5,"collected":1,"ended":1}
)");
        tree_.write("results/runs/" + id + "/modules/m.py/1.log", "");
        store::RunInfo info;
        info.id = id;
        info.suite = info.series = "s";
        info.started = WallTime(std::chrono::seconds(second));
        info.framework = "unittest";
        info.device = "cpu";
        info.folder = "runs/" + id;
        info.shard = shard;
        store::JobResult job;
        job.record.path = "m.py";
        job.log = "modules/m.py/1.log";
        job.events = "modules/m.py/1.events.jsonl";
        job.ended = ProcessEnd::exited(0);
        EXPECT_TRUE(record_run(folder, info));
        EXPECT_TRUE(record_plan(folder, {"m.py"}));
        EXPECT_TRUE(record_attempt(folder, job));
        EXPECT_TRUE(record_end(folder, {}));
        return folder;
    }
    [[nodiscard]] fs::path results() const { return tree_.root() / "results"; }

    test::TempTree tree_;
};

TEST_F(ShardsTest, FoldersAreListedNewestFirst) {
    write_run("s_1", "1/2", 1);
    write_run("s_2", "2/2", 2);
    write_run("s_3", "", 3);
    fs::create_directories(results() / "runs" / "without a record");
    tree_.write("results/runs/cut off/record.jsonl", R"({"event":"ru)");
    const auto [shards, errors] = shard_folders(results());
    ASSERT_EQ(shards.size(), 2u);
    EXPECT_EQ(shards[0].info.id, "s_2");
    EXPECT_EQ(shards[1].folder, results() / "runs" / "s_1");
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, (results() / "runs/cut off/record.jsonl").string());
    EXPECT_EQ(shard_folders(results() / "none").errors.size(), 1u);
}

TEST_F(ShardsTest, NamesAreThoseOfRuns) {
    write_run("s_1", "1/2", 1);
    write_run("s_2", "2/2", 2);
    EXPECT_EQ(find_shard(results(), "latest")->info.id, "s_2");
    EXPECT_EQ(find_shard(results(), "s@latest~1")->info.id, "s_1");
    EXPECT_EQ(find_shard(results(), "s_1")->info.shard, "1/2");
    EXPECT_FALSE(find_shard(results(), "s_"));
    EXPECT_FALSE(find_shard(results(), "other"));
}

TEST_F(ShardsTest, LoadedShardHoldsItsTests) {
    const auto store = load_shard(write_run("s_1", "1/2", 1));
    ASSERT_TRUE(store) << store.error().message;
    const auto verdicts = store->verdicts("s_1");
    ASSERT_TRUE(verdicts);
    ASSERT_EQ(verdicts->size(), 1u);
    EXPECT_EQ(verdicts->front().state, parsers::State::passed);
    EXPECT_TRUE(store->load_run("s_1")->end);
}

TEST_F(ShardsTest, ShardWithoutAnAttemptsFilesIsNotLoaded) {
    const fs::path folder = write_run("s_1", "1/2", 1);
    fs::remove(folder / "modules/m.py/1.events.jsonl");
    const auto store = load_shard(folder);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().message, "shard 1/2 lacks attempt 1 at m.py");
}

TEST_F(ShardsTest, CompleteShardHasALineForEachAttempt) {
    const fs::path folder = write_run("s_1", "1/2", 1);
    for (const auto* file : {"2.log", "2.events.jsonl", "2.devices.jsonl"}) {
        const auto left = tree_.write("results/runs/s_1/modules/m.py/" + std::string(file), "");
        const auto store = load_shard(folder);
        ASSERT_FALSE(store) << file;
        EXPECT_EQ(store.error().message, "shard 1/2 lacks attempt 2 at m.py");
        fs::remove(left);
    }
    EXPECT_TRUE(load_shard(folder));
    // `resume` reads the files of an attempt that was not recorded.
    tree_.write("results/runs/s_1/modules/m.py/2.log", "");
    ASSERT_TRUE(record_reopened(folder));
    EXPECT_TRUE(load_shard(folder));
}

TEST_F(ShardsTest, ShardsNeedNoDatabaseAndOtherRunsDo) {
    write_run("s_1", "1/2", 1);
    EXPECT_EQ(existing_results(results()).error().kind, ErrorKind::usage);
    {
        const auto shard = open_shard_results(results());
        ASSERT_TRUE(shard);
        EXPECT_FALSE(has_database(results()));
    }
    const auto store = open_results(results());
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_TRUE(has_database(results()));
    const auto named = find_run(*store, results(), "s_1");
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().message, "this run is shard 1/2, and no database holds it");
}

TEST_F(ShardsTest, RunsWithoutTheirDatabaseAreNotHiddenByANewOne) {
    write_run("s_1", "1/2", 1);
    write_run("s_2", "", 2);
    EXPECT_EQ(existing_results(results()).error().kind, ErrorKind::database);
    EXPECT_FALSE(open_results(results()));
}

}  // namespace
}  // namespace compat::archive
