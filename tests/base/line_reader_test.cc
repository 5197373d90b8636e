#include "runner/base/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <vector>

#include "tests/support/temp_tree.h"

namespace compat {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Seen {
    std::string text;
    std::uint64_t offset = 0, cut_bytes = 0;
    bool complete = true;
    bool operator==(const Seen&) const = default;
    friend void PrintTo(const Seen& seen, std::ostream* out) {
        *out << seen.text.substr(0, 40) << " @" << seen.offset << " -" << seen.cut_bytes;
    }
};

struct Collected {
    std::vector<Seen> lines;
    LineVisitor visitor() {
        return [this](const Line& line) {
            lines.push_back({std::string(line.text), line.offset, line.cut_bytes, line.complete});
        };
    }
};

TEST(LineSplitter, GivesTheSameLinesForAnyPieces) {
    const std::string input = "one\n\n123456789\n12345\nlast";
    const std::vector<Seen> expected{{"one", 0, 0, true},
                                     {"", 4, 0, true},
                                     {"12345", 5, 4, true},
                                     {"12345", 15, 0, true},
                                     {"last", 21, 0, false}};
    for (size_t piece = 1; piece <= input.size(); ++piece) {
        Collected seen;
        LineSplitter lines(5);
        for (size_t at = 0; at < input.size(); at += piece)
            lines.feed(std::string_view(input).substr(at, piece), seen.visitor());
        lines.finish(seen.visitor());
        lines.finish(seen.visitor());  // once
        EXPECT_EQ(seen.lines, expected) << piece;
        EXPECT_EQ(lines.cut_lines(), 1u);
    }
}

class LineReaderTest : public testing::Test {
  protected:
    void write(std::string_view text, std::ios::openmode mode = std::ios::app) {
        std::ofstream(path, mode) << text << std::flush;
    }
    test::TempTree tree;
    const fs::path path = tree.root() / "events";
    Collected seen;
};

TEST_F(LineReaderTest, FollowsAGrowingFile) {
    LineReader reader(path);
    EXPECT_FALSE(reader.read(seen.visitor())) << "no file yet";
    write("one\ntw");
    EXPECT_EQ(reader.read(seen.visitor()), false);
    EXPECT_THAT(seen.lines, ElementsAre(Seen{"one", 0, 0, true}));
    write("o\nthree");
    EXPECT_EQ(reader.read(seen.visitor()), false);
    reader.finish(seen.visitor());
    EXPECT_THAT(seen.lines, ElementsAre(Seen{"one", 0, 0, true}, Seen{"two", 4, 0, true},
                                        Seen{"three", 8, 0, false}));
}

TEST_F(LineReaderTest, RestartsOnATruncatedOrReplacedFile) {
    LineReader reader(path);
    write("one\ntwo\nhalf");
    EXPECT_TRUE(reader.read(seen.visitor()));
    seen.lines.clear();
    write("1\n", std::ios::trunc);
    EXPECT_TRUE(reader.read(seen.visitor()));
    EXPECT_THAT(seen.lines, ElementsAre(Seen{"1", 0, 0, true}));
    seen.lines.clear();
    fs::rename(path, tree.root() / "elsewhere");
    write("another and longer\n");
    EXPECT_TRUE(reader.read(seen.visitor()));
    EXPECT_THAT(seen.lines, ElementsAre(Seen{"another and longer", 0, 0, true}));
}

TEST_F(LineReaderTest, BoundsTheBytesOfACall) {
    write("1234567\n1234567\n1234567\n");
    LineReader reader(path, {.line_bytes = 100, .read_bytes = 10});
    EXPECT_EQ(reader.read(seen.visitor()), true);
    EXPECT_EQ(seen.lines.size(), 1u);
    EXPECT_EQ(reader.read(seen.visitor()), true);
    EXPECT_EQ(seen.lines.size(), 2u);
    EXPECT_EQ(reader.read(seen.visitor()), false);
    EXPECT_EQ(seen.lines.size(), 3u);
}

TEST_F(LineReaderTest, KeepsTheHeadOfAnEndlessLine) {
    { std::ofstream(path) << "x"; }
    fs::resize_file(path, 64 << 20);  // sparse
    LineReader reader(path, {.line_bytes = 1 << 10, .read_bytes = 1 << 30});
    EXPECT_EQ(reader.read(seen.visitor()), false);
    reader.finish(seen.visitor());
    ASSERT_EQ(seen.lines.size(), 1u);
    EXPECT_EQ(seen.lines[0].text.size(), 1u << 10);
    EXPECT_EQ(seen.lines[0].cut_bytes, (64u << 20) - (1u << 10));
    EXPECT_EQ(reader.cut_lines(), 1u);
}

TEST_F(LineReaderTest, RejectsAnythingButARegularFile) {
    const auto why = [&] {
        LineReader reader(path);
        const auto read = reader.read(seen.visitor());
        return read ? "" : read.error().message;
    };
    fs::create_symlink("/dev/zero", path);
    EXPECT_THAT(why(), HasSubstr("not a regular file"));
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(why(), HasSubstr("not a regular file"));
    fs::remove(path);
    fs::create_directory(path);
    EXPECT_THAT(why(), HasSubstr("not a regular file"));
    EXPECT_THAT(seen.lines, IsEmpty());
}

TEST(JsonDepth, IgnoresBracketsInStrings) {
    EXPECT_FALSE(json_nests_deeper("{[]}[]", 2));
    EXPECT_TRUE(json_nests_deeper("{[{", 2)) << "a truncated line";
    EXPECT_FALSE(json_nests_deeper(R"({"[[[\"[[[": 1})", 1));
    EXPECT_TRUE(json_nests_deeper(std::string(1 << 20, '[')));
}

}  // namespace
}  // namespace compat
