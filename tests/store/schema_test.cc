// What people and later parts of the program rely on in the schema: its views, its indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "runner/store/store_impl.h"
#include "tests/store/samples.h"
#include "tests/support/redact.h"

namespace compat::store {
namespace {

using testing::HasSubstr;
using testing::Not;

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

    Store store = std::move(*Store::in_memory());
};

TEST_F(SchemaTest, ViewsReadWell) {
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

TEST_F(SchemaTest, TheQueriesThatMatterUseAnIndex) {
    const char* const queries[] = {
        "SELECT * FROM result WHERE run = 1 AND verdict = 1 AND state = 'failed'",
        "SELECT * FROM test JOIN result ON result.test = test.id WHERE case_id = 'x'",
        "SELECT * FROM failure WHERE signature = 'x'",
        "SELECT * FROM suite JOIN module ON module.suite = suite.id WHERE suite.name = 'a' AND "
        "path = 'b'",
        "SELECT * FROM run WHERE suite = 1 AND series = 's' ORDER BY started_ms DESC",
        "SELECT new.test FROM result AS new JOIN result AS old ON old.test = new.test AND old.run "
        "= 1"
        " WHERE new.run = 2 AND new.verdict = 1 AND old.verdict = 1",
    };
    for (const char* query : queries) {
        auto plan = rows(std::string("EXPLAIN QUERY PLAN ") + query);
        while (plan.step()) {
            EXPECT_THAT(plan.text(3), HasSubstr("INDEX")) << query << "\n" << plan.text(3);
            EXPECT_THAT(plan.text(3), Not(HasSubstr("TEMP B-TREE"))) << query;
        }
    }
}

// A statement that makes something. SQLite appends columns that came later to the line of the last
// one: here each has its own.
std::string laid_out(const std::string& sql) {
    static const std::regex kLater(R"(( *--[^\n]*)?\n, )");
    if (!sql.starts_with("CREATE TABLE") || sql.find("(\n") == std::string::npos) return sql;
    std::string text;
    int depth = 0;
    bool comment = false;
    for (const char c : std::regex_replace(sql, kLater, ",$1\n    ")) {
        if (!comment && depth == 1 && c != '-' && text.ends_with(", "))
            text.replace(text.size() - 1, 1, "\n    ");
        depth += comment ? 0 : (c == '(') - (c == ')');
        text += c;
        comment = c != '\n' && (comment || text.ends_with("--"));
    }
    return text;
}

TEST_F(SchemaTest, SchemaSqlIsWhatTheMigrationsMake) {
    auto row = rows(R"sql(
        SELECT sql, type
        FROM sqlite_schema
        WHERE sql IS NOT NULL
        ORDER BY type = 'view', rowid)sql");
    std::string text =
        "-- The schema of the database today, made from migrations/*.sql: edit those. Rewritten "
        "by\n"
        "-- COMPAT_UPDATE_GOLDEN=1 store_test --gtest_filter=SchemaTest.*\n";
    while (row.step()) text += (row.text(1) == "index" ? "" : "\n") + laid_out(row.text(0)) + ";\n";
    test::expect_file("runner/store/schema.sql", text);
}

// Where rows of the parent are deleted, SQLite looks for the children of each of them.
TEST_F(SchemaTest, EveryForeignKeyWhoseParentsAreDeletedHasAnIndex) {
    // A run or a gap is deleted, and with it what hangs on it.
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
    for (const char* table : {"module", "attempt", "result", "subtest", "failure", "device_event",
                              "kernel_count", "diagnostic", "leaked_process", "mismatch"}) {
        auto count = rows(std::string("SELECT count(*) FROM ") + table);
        count.step();
        EXPECT_EQ(count.integer(0), 0) << table;
    }
}

}  // namespace
}  // namespace compat::store
