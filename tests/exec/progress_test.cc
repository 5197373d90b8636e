#include "runner/exec/progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/base/line_mac.h"
#include "tests/support/temp_tree.h"

namespace compat::exec {
namespace {

TEST(Progress, FollowsAGrowingFile) {
    const test::TempTree tree;
    const std::filesystem::path& dir = tree.root();
    ProgressReader reader(dir / "events");
    EXPECT_FALSE(reader.poll()) << "no file yet";
    std::ofstream file(dir / "events");
    file << R"({"event":"session","pid":7})" << '\n'
         << R"({"event":"collected","pid":7,"id":"a"})" << '\n'
         << R"({"event":"rea)" << std::flush;
    EXPECT_TRUE(reader.poll());
    EXPECT_EQ(reader.progress(), (Progress{1, 0, false, "", true}));
    file << R"(dy","pid":7})" << '\n'
         << R"({"event":"start","pid":7,"id":"a"})" << '\n'
         << std::flush;
    EXPECT_TRUE(reader.poll());
    EXPECT_EQ(reader.progress(), (Progress{1, 0, true, "a", true, 1}));
    file << R"({"event":"end","pid":7,"id":"a"})" << '\n' << std::flush;
    EXPECT_TRUE(reader.poll());
    EXPECT_EQ(reader.progress(), (Progress{1, 1, true, "", true, 1}));
    EXPECT_FALSE(reader.poll());
}

std::string numbered(int seq, const char* event) {
    return fmt::format(R"({{"event":"{}","pid":7,"seq":{},"id":"a"}})", event, seq);
}

TEST(Progress, WithAKeyIgnoresLinesWithoutItsMac) {
    const std::string key = new_mac_key();
    ProgressReader reader(std::filesystem::path("unused"), {}, key);
    const auto line = [](int seq, const char* event, const std::string& by) {
        const std::string text =
            fmt::format(R"({{"event": "{}", "pid": 7, "seq": {}, "id": "a")", event, seq);
        return fmt::format(R"({}, "mac": "{}"}})", text, mac_of(text, by));
    };
    reader.feed(numbered(0, "session"));
    reader.feed(line(0, "session", key));
    reader.feed(line(1, "start", key));
    reader.feed(numbered(2, "end"));
    reader.feed(line(2, "finish", new_mac_key()));
    EXPECT_EQ(reader.progress().current, "a");
    reader.feed(line(2, "end", key));
    EXPECT_EQ(reader.progress().ended, 1);
}

TEST(Progress, ContinuesAfterAFileWasDamagedAndRewritten) {
    const test::TempTree tree;
    const std::filesystem::path path = tree.root() / "events";
    const auto write = [&](const std::string& text) { std::ofstream(path) << text << std::flush; };
    const std::string whole = numbered(0, "session") + '\n' + numbered(1, "collected") + '\n' +
                              numbered(2, "start") + '\n';
    ProgressReader reader(path);
    write(whole);
    EXPECT_TRUE(reader.poll());
    const Progress before = reader.progress();

    write("");
    EXPECT_FALSE(reader.poll());
    write(std::string(1000, 'x') + '\n' + std::string(1000, 'x'));
    EXPECT_FALSE(reader.poll());
    write(whole);
    EXPECT_FALSE(reader.poll());
    EXPECT_EQ(reader.progress(), before) << "each line counts once";

    std::filesystem::rename(path, tree.root() / "elsewhere");
    write(whole + numbered(3, "end") + '\n');
    EXPECT_TRUE(reader.poll());
    EXPECT_EQ(reader.progress(), (Progress{1, 1, false, "", true, 1}));
}

TEST(Progress, IgnoresLinesOutOfSequence) {
    ProgressReader reader(std::filesystem::path("unused"));
    reader.feed(numbered(0, "session"));
    reader.feed(numbered(1, "start"));
    const Progress before = reader.progress();
    reader.feed(numbered(1, "end"));
    reader.feed(R"({"event":"end","pid":7,"id":"a"})");
    EXPECT_EQ(reader.progress(), before);
    reader.feed(numbered(3, "end"));  // line 2 is missing
    EXPECT_EQ(reader.progress().ended, 1);
    reader.feed(numbered(4, "finish"));
    reader.feed(numbered(5, "start"));
    EXPECT_EQ(reader.progress().starts, 1);
}

TEST(Progress, ReportsTheInnermostOpenTest) {
    ProgressReader reader(std::filesystem::path("unused"));
    const auto feed = [&](const char* event, const char* id) {
        reader.feed(fmt::format(R"({{"event":"{}","pid":1,"id":"{}"}})", event, id));
        return reader.progress().current;
    };
    EXPECT_EQ(feed("start", "a"), "a");
    EXPECT_EQ(feed("start", "b"), "b");
    EXPECT_EQ(feed("end", "b"), "a");
    EXPECT_EQ(feed("end", "never started"), "a");
    EXPECT_EQ(feed("start", "a"), "a") << "again";
    EXPECT_EQ(feed("end", "a"), "a");
    EXPECT_EQ(feed("end", "a"), "");
    EXPECT_EQ(reader.progress().starts, 3);
    EXPECT_EQ(reader.progress().ended, 4);
}

TEST(Progress, HandsOverEachUnpassedTestOnce) {
    ProgressReader reader(std::filesystem::path("unused"));
    for (
        const char* line :
        {R"({"event":"end","pid":1,"id":"a","state":"passed"})",
         R"({"event":"end","pid":1,"id":"b","state":"failed","failure":{"type":"E","message":"m"}})",
         R"({"event":"end","pid":1,"id":"c","state":"skipped","failure":7})"})
        reader.feed(line);
    EXPECT_EQ(reader.take_ends(),
              (std::vector<TestEnd>{{"b", "failed", "E", "m"}, {"c", "skipped", "", ""}}));
    EXPECT_TRUE(reader.take_ends().empty());
}

TEST(Progress, BoundsTheCostOfAReplacedEventsFile) {
    const test::TempTree tree;
    const std::filesystem::path path = tree.root() / "events";
    std::filesystem::create_symlink("/dev/zero", path);
    ProgressReader reader(path);
    EXPECT_FALSE(reader.poll());
    std::filesystem::remove(path);
    std::ofstream(path) << std::string(3 << 20, 'x');
    EXPECT_FALSE(reader.poll());
    std::ofstream(path, std::ios::app) << '\n' << numbered(0, "session") << '\n' << std::flush;
    EXPECT_TRUE(reader.poll() || reader.poll());
    EXPECT_TRUE(reader.progress().session) << "after an oversized line";
}

TEST(Progress, ReportsItselfBehindUntilAllIsRead) {
    const test::TempTree tree;
    const std::filesystem::path path = tree.root() / "events";
    {
        std::ofstream file(path);
        for (int i = 0; i < 10; ++i) file << numbered(i, "collected") << '\n';
    }
    ProgressReader reader(path, {.line_bytes = 1000, .read_bytes = 200});
    EXPECT_TRUE(reader.poll());
    EXPECT_TRUE(reader.progress().behind);
    EXPECT_LT(reader.progress().collected, 10);
    for (int i = 0; i < 10 && reader.progress().behind; ++i) EXPECT_TRUE(reader.poll());
    EXPECT_EQ(reader.progress(), (Progress{10, 0, false, "", false}));
}

TEST(Progress, ReadsTheHeadOfATruncatedLine) {
    ProgressReader reader(std::filesystem::path("unused"));
    reader.feed(R"({"event":"start","pid":1,"id":"a"})");
    reader.feed(
        R"({"event":"end","pid":1,"id":"a","state":"failed","failure":{"type":"E","message":"m","te)",
        true);
    EXPECT_EQ(reader.progress().current, "");
    EXPECT_EQ(reader.take_ends(), (std::vector<TestEnd>{{"a", "failed", "E", "m"}}));
    reader.feed(R"({"event":"start","pid":1,"id":"b","te)");
    EXPECT_EQ(reader.progress().current, "") << "a broken line that was not truncated";
}

TEST(Progress, BoundsDepthAndLengthOfAnEvent) {
    ProgressReader reader(std::filesystem::path("unused"));
    const std::string deep(100'000, '[');
    reader.feed(R"({"event":"start","pid":1,"id":"a","x":)" + deep, true);
    EXPECT_EQ(reader.progress().starts, 0);
    for (int i = 0; i < 1000; ++i)
        reader.feed(fmt::format(R"({{"event":"start","pid":1,"id":"{}"}})", i));
    EXPECT_EQ(reader.progress().current, "999");
    reader.feed(fmt::format(
        R"({{"event":"end","pid":1,"id":"999","state":"failed","failure":{{"message":"{}"}}}})",
        std::string(300'000, 'm')));
    EXPECT_LT(reader.take_ends().at(0).message.size(), 100'000u);
    EXPECT_EQ(reader.progress().current, "998");
}

TEST(Progress, IgnoresLinesOfOtherProcessesAndInvalidLines) {
    ProgressReader reader(std::filesystem::path("unused"));
    reader.feed(R"({"event":"start","pid":1,"id":"a"})");
    const Progress before = reader.progress();
    for (const char* line : {"", "not json", "[]", "3", R"({"event":5,"pid":1})",
                             R"({"event":"end","pid":2,"id":"a"})", R"({"event":"end"})",
                             R"({"event":"start","pid":1,"id":5})", "\xff\xfe{"})
        reader.feed(line);
    EXPECT_EQ(reader.progress(), before);
}

}  // namespace
}  // namespace compat::exec
