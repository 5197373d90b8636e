#include "runner/hub/server/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<Named>& list) {
    std::vector<std::string> names;
    for (const Named& one : list) names.push_back(one.name + " (" + one.why + ")");
    return names;
}

TEST(HubJournal, IsReadAgainAsItWasWritten) {
    const test::TempTree tree;
    const fs::path log = tree.root() / "hub.jsonl";
    Journal journal(log);
    for (int i = 0; i < 3; ++i) journal.count_request();
    journal.add({How::recorded, "model", "a/b", "main"});
    journal.add({How::recorded, "model", "a/b", "main", "config.json"});
    journal.add({How::generated, "model", "a/c", "main", "", "by its name", "BertModel"});
    journal.count_fetched(100);
    journal.add({How::fetched, "url", "https://h/x"});
    journal.add({How::absent, "model", "a/b", "main", "none"});
    journal.add({How::missing, "dataset", "a/d", "main", "x.csv", "is not in the lock"});
    journal.add({How::damaged, "model", "a/b", "main", "x", "another digest"});
    journal.add_problem("hub.lock.json", "the disk is full");
    journal.count_request();
    journal.finish();

    // A second hub of the run, and what a killed runner leaves.
    tree.write(log, read_file(log).value() +
                        "{\"how\":\"counts\",\"requests\":2,\"bytes_fetched\":1}\ngarbage\n"
                        "{\"how\":5,\"requests\":-1}\n[]\n{\"how\":\"miss");
    const auto summary = read_journal(FileBelow(tree.root(), "hub.jsonl"));
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->requests, 6U);
    EXPECT_EQ(summary->bytes_fetched, 101U);
    EXPECT_EQ(summary->served, journal.summary().served);
    EXPECT_THAT(summary->served, ElementsAre("model a/b", "model a/c", "https://h/x"));
    EXPECT_THAT(summary->generated, ElementsAre("model a/c"));
    EXPECT_THAT(names_of(summary->missing), ElementsAre("dataset a/d: x.csv (is not in the lock)"));
    EXPECT_THAT(names_of(summary->problems),
                ElementsAre("model a/b: x (another digest)", "hub.lock.json (the disk is full)"));
    EXPECT_FALSE(read_journal(FileBelow(tree.root(), "none.jsonl")));
}

TEST(HubJournal, WritesCountsAsTheyCome) {
    const test::TempTree tree;
    Journal journal(tree.root() / "hub.jsonl");
    for (int i = 0; i < 250; ++i) journal.count_request();
    EXPECT_EQ(read_journal(FileBelow(tree.root(), "hub.jsonl"))->requests, 200U);
    journal.add({How::recorded, "model", "a/b"});
    EXPECT_EQ(read_journal(FileBelow(tree.root(), "hub.jsonl"))->requests, 250U);
}

}  // namespace
}  // namespace compat::hub
