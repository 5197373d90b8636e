// Views, indices and constraints of the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <tuple>

#include "runner/store/compared_runs.h"
#include "runner/store/gaps.h"
#include "runner/store/store_impl.h"
#include "tests/store/samples.h"

namespace compat::store {
namespace {

using testing::HasSubstr;

class SchemaTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(store.begin_run(samples::run("r", 1)));
        ASSERT_TRUE(store.save_job("r", samples::job("a.py")));
        JobResult again = samples::job("a.py", 2);
        again.record.cases = {samples::test("a.py::T::test_failed", parsers::State::passed)};
        ASSERT_TRUE(store.save_job("r", again));
        ASSERT_TRUE(store.finish_run("r", samples::end(2)));
    }
    Statement rows(const std::string& sql) { return store.impl().database.prepare(sql); }

    Store store = std::move(*Store::temporary());
};

TEST_F(SchemaTest, ViewsHaveTheDocumentedColumns) {
    auto run =
        rows("SELECT run, suite, status, modules, collected, passed, failed, crashed FROM v_run");
    ASSERT_TRUE(run.step());
    EXPECT_EQ(run.text(0), "r");
    EXPECT_EQ(run.text(1), "alpha");
    EXPECT_EQ(run.text(2), "complete");
    EXPECT_EQ(run.integer(3), 1);
    EXPECT_EQ(run.integer(4), 9);
    EXPECT_EQ(run.integer(5), 2);
    EXPECT_EQ(run.integer(6), 0);
    EXPECT_EQ(run.integer(7), 1);
    EXPECT_FALSE(run.step());

    auto test = rows(
        "SELECT state, attempt, module, file, line FROM v_case WHERE \"case\" = "
        "'a.py::T::test_failed'");
    ASSERT_TRUE(test.step());
    EXPECT_EQ(test.text(0), "passed");
    EXPECT_EQ(test.integer(1), 2);
    EXPECT_EQ(test.text(2), "a.py");
    EXPECT_EQ(test.text(3), "/src/alpha/tests/test_a.py");
    EXPECT_FALSE(test.step()) << "a case is shown once, with its verdict";

    auto failures = rows("SELECT count(*) FROM v_failure");
    failures.step();
    EXPECT_EQ(failures.integer(0), 0)
        << "the failures of an attempt that was overruled are history";
}

TEST_F(SchemaTest, FailuresAreListedWithTheirSubtests) {
    ASSERT_TRUE(store.begin_run(samples::run("s", 2)));
    ASSERT_TRUE(store.save_job("s", samples::job("a.py")));
    auto row = rows("SELECT subtest, also, key_line FROM v_failure WHERE run = 's'");
    int own = 0;
    int also = 0;
    int of_subtests = 0;
    while (row.step()) {
        of_subtests += !row.is_null(0);
        also += row.flag(1);
        own += row.is_null(0) && !row.flag(1);
        EXPECT_THAT(row.text(2), HasSubstr("AssertionError"));
    }
    EXPECT_EQ(own, 1);
    EXPECT_EQ(also, 2);
    EXPECT_EQ(of_subtests, 1);
}

// The statements of every call of the store.
TEST_F(SchemaTest, QueriesUseAnIndex) {
    std::set<std::string> queries;
    store.impl().database.set_prepare_hook([&](std::string_view sql) { queries.emplace(sql); });
    ASSERT_TRUE(store.begin_run(samples::run("s", 3)));
    ASSERT_TRUE(store.plan_modules("s", {"a.py", "b.py"}));
    ASSERT_TRUE(store.save_job("s", samples::job("a.py")));
    ASSERT_TRUE(store.save_job("s", samples::job("a.py", 2)));
    ASSERT_TRUE(store.finish_run("s", samples::end(4)));
    ASSERT_TRUE(store.reopen_run("s"));
    ASSERT_TRUE(store.runs());
    ASSERT_TRUE(store.load_run("s"));
    ASSERT_TRUE(store.extent_of("s"));
    ASSERT_TRUE(store.verdicts("s"));
    ASSERT_TRUE(store.cases("s", {}, 0, 10));
    ASSERT_TRUE(store.cases("s", {{}, "a.py"}, 0, 10));
    ASSERT_TRUE(store.case_history("a.py::T::test_failed"));
    ASSERT_TRUE(store.last_known_cases("alpha", "a.py"));
    ASSERT_TRUE(store.past_of("alpha"));
    const auto ignore = [](const StoredModule&) -> Expected<void> { return {}; };
    ASSERT_TRUE(store.each_module("s", ignore));
    const auto none = [](const ModuleVisitor&) -> Expected<void> { return {}; };
    ASSERT_TRUE(store.replace_modules("s", none, [] { return samples::end(5); }));
    const GapLog gaps(store);
    ASSERT_TRUE(gaps.gaps());
    ASSERT_TRUE(gaps.hits("s"));
    ASSERT_TRUE(gaps.current_hits());
    ASSERT_TRUE(gaps.blocked_tests("s"));
    const std::vector<SeriesRun> series{{1, "r", {}, true, {}}};
    ASSERT_TRUE(series_before(store, samples::run("s", 3), 10));
    ASSERT_TRUE(states_in_series(store, series, "a.py::T::test_failed"));
    store.impl().database.set_prepare_hook({});
    EXPECT_GT(queries.size(), 40u);

    // Tables that some calls list whole. All others grow with every run.
    const std::set<std::string> may_be_read_whole{
        "run",    "suite", "gap",       "gap_hit",  "known",     "last_ten",
        "states", "used",  "(subquery", "CONSTANT", "json_each", "part_of_suite"};
    const std::regex scan(R"(SCAN (\S+).*)");
    for (const std::string& query : queries) {
        auto plan = rows("EXPLAIN QUERY PLAN " + query);
        while (plan.step()) {
            std::smatch found;
            const std::string step = plan.text(3);
            if (std::regex_match(step, found, scan)) {
                EXPECT_TRUE(may_be_read_whole.contains(found[1])) << step << "\n" << query;
            }
        }
    }
}

TEST_F(SchemaTest, ATextThatManyFailuresShareIsStoredOnce) {
    const auto count = [&] {
        auto row = rows("SELECT count(*) FROM text");
        row.step();
        return row.integer(0);
    };
    const auto before = count();
    JobResult job = samples::job("a.py", 3);
    job.record.cases = {samples::test("a.py::T::new", parsers::State::failed)};
    job.record.cases[0].failure = samples::failure("1 != 2\n- 1\n+ 2");
    ASSERT_TRUE(store.save_job("r", job));
    EXPECT_EQ(count(), before) << "the sample has failed so before";
    job.attempt = 4;
    job.record.cases[0].failure->message = "another";
    ASSERT_TRUE(store.save_job("r", job));
    EXPECT_EQ(count(), before + 1);
}

TEST_F(SchemaTest, CountsFollowWhatIsSavedAndDeleted) {
    const auto counts = [&](const char* table) {
        auto row = rows(std::string("SELECT passed, failed, skipped FROM ") + table);
        row.step();
        return std::tuple(row.integer(0), row.integer(1), row.integer(2));
    };
    EXPECT_EQ(counts("module"), std::tuple(2, 0, 1)) << "the second attempt passed what failed";
    EXPECT_EQ(counts("run"), std::tuple(2, 0, 1));
    ASSERT_TRUE(store.save_job("r", samples::job("b.py")));
    EXPECT_EQ(counts("run"), std::tuple(3, 1, 2));
    EXPECT_EQ(store.runs()->at(0).modules, 2);
    store.impl().database.execute("DELETE FROM module WHERE path = 'a.py'");
    EXPECT_EQ(counts("run"), std::tuple(1, 1, 1));
    EXPECT_EQ(store.runs()->at(0).modules, 1);
}

// Deleting a parent row makes SQLite search its children.
TEST_F(SchemaTest, EveryForeignKeyWhoseParentsAreDeletedHasAnIndex) {
    // Deleting a run or a gap deletes its rows in other tables.
    auto keys = rows(R"sql(
        WITH RECURSIVE
        key (child, parent, field, action) AS (
            SELECT tables.name, keys."table", keys."from", keys.on_delete
            FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys
            WHERE tables.type = 'table'),
        deleted (name) AS (
            VALUES ('run'), ('gap')
            UNION SELECT child FROM key JOIN deleted ON parent = name AND action = 'CASCADE')
        SELECT child, field, EXISTS (
            SELECT 1
            FROM pragma_index_list(child) AS indices, pragma_index_info(indices.name) AS columns
            WHERE columns.seqno = 0 AND columns.name = field)
        FROM key
        WHERE parent IN (SELECT name FROM deleted))sql");
    int found = 0;
    for (; keys.step(); ++found)
        EXPECT_TRUE(keys.flag(2)) << keys.text(0) << "." << keys.text(1) << " has no index";
    EXPECT_GT(found, 10);
}

TEST_F(SchemaTest, DeletingARunLeavesNothingOfItBehind) {
    store.impl().database.execute("DELETE FROM run");
    for (const char* table :
         {"module", "attempt", "result", "subtest", "failure", "device_event", "kernel_count",
          "collective", "optimizer_step", "diagnostic", "leaked_process", "mismatch"}) {
        auto count = rows(std::string("SELECT count(*) FROM ") + table);
        count.step();
        EXPECT_EQ(count.integer(0), 0) << table;
    }
}

}  // namespace
}  // namespace compat::store
