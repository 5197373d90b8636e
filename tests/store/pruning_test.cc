// Deleting runs: what they alone used goes, what others use stays, and the file gets smaller.
#include "runner/store/pruning.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runner/store/store_impl.h"
#include "tests/store/samples.h"
#include "tests/support/temp_tree.h"

namespace compat::store {
namespace {

class PruningTest : public ::testing::Test {
  protected:
    // A run whose one failed test has the message `message`.
    void add_run(Store& store, const std::string& id, const std::string& suite,
                 const std::string& message) {
        ASSERT_TRUE(store.begin_run(samples::run(id, 1, suite)));
        JobResult job;
        job.record.path = "m.py";
        parsers::CaseRecord test;
        test.id = "m.py::T::test_" + suite;
        test.name = test.id;
        test.state = parsers::State::failed;
        test.location = {"/src/" + suite + ".py", 3};
        test.failure = samples::failure(message);
        job.record.cases.push_back(test);
        ASSERT_TRUE(store.save_job(id, job));
    }
    std::int64_t count(const Store& store, const std::string& table) {
        Statement row = store.impl().database.prepare("SELECT count(*) FROM " + table);
        row.step();
        return row.integer(0);
    }

    test::TempTree tree_;
};

TEST_F(PruningTest, RowsThatNoRunUsesAreDeleted) {
    auto store = Store::open(tree_.root() / "runner.db").value();
    add_run(store, "a", "alpha", "of a alone");
    add_run(store, "b", "beta", "of both");
    add_run(store, "c", "alpha", "of both");
    ASSERT_TRUE(store.delete_run("a"));
    const auto before = count(store, "text");
    ASSERT_TRUE(delete_unused(store));
    EXPECT_EQ(count(store, "text"), before - 2);  // the message and the traceback of a
    EXPECT_EQ(count(store, "suite"), 2);
    EXPECT_EQ(count(store, "test"), 2);
    EXPECT_EQ(store.case_history("m.py::T::test_alpha")->size(), 1u);

    ASSERT_TRUE(store.delete_run("c"));
    ASSERT_TRUE(delete_unused(store));
    for (const char* table : {"suite", "test", "source_file"})
        EXPECT_EQ(count(store, table), 1) << table;
    EXPECT_TRUE(store.case_history("m.py::T::test_alpha")->empty());

    ASSERT_TRUE(store.delete_run("b"));
    ASSERT_TRUE(delete_unused(store));
    for (const char* table : {"suite", "test", "source_file", "text", "result", "failure", "site"})
        EXPECT_EQ(count(store, table), 0) << table;
}

TEST_F(PruningTest, ForeignKeysAreCheckedAgainAfterwards) {
    auto store = Store::open(tree_.root() / "runner.db").value();
    add_run(store, "a", "alpha", "x");
    ASSERT_TRUE(delete_unused(store));
    EXPECT_THROW(store.impl().database.execute("DELETE FROM text"), SqlError);
}

TEST_F(PruningTest, TheFileShrinks) {
    const auto file = tree_.root() / "runner.db";
    auto store = Store::open(file).value();
    for (const char* id : {"a", "b", "c"})
        add_run(store, id, "alpha", id + std::string(1 << 20, 'x'));
    ASSERT_TRUE(store.settle());
    const auto before = std::filesystem::file_size(file);
    for (const char* id : {"a", "b"}) ASSERT_TRUE(store.delete_run(id));
    ASSERT_TRUE(delete_unused(store));
    const auto space = space_of(store).value();
    EXPECT_GT(space.free_bytes, 3 << 20);
    ASSERT_TRUE(shrink(store));
    EXPECT_EQ(space_of(store)->free_bytes, 0);
    EXPECT_LT(std::filesystem::file_size(file), before / 2);
    EXPECT_EQ(store.runs()->size(), 1u);
}

}  // namespace
}  // namespace compat::store
