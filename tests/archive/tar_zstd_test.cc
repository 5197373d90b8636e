// Archives of files: what goes in comes out, GNU tar reads and writes the same, and what is damaged
// or leads out of its folder is refused.
#include "runner/archive/packed/tar_zstd.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TarZstd : public ::testing::Test {
  protected:
    void pack(const std::map<std::string, std::string>& texts) {
        std::vector<TarFile> files;
        for (const auto& [name, text] : texts)
            files.push_back({name, tree_.write("in/" + name, text).lexically_relative(tree_.root())});
        const auto written = write_tar_zstd(archive(), tree_.root(), files);
        ASSERT_TRUE(written) << to_line(written.error());
        room_ = *written;
    }
    [[nodiscard]] Expected<void> extract() const {
        fs::remove_all(out());
        return extract_tar_zstd(archive(), out());
    }
    void expect_refused(std::string_view why) const {
        const auto extracted = extract();
        ASSERT_FALSE(extracted);
        EXPECT_EQ(extracted.error().kind, ErrorKind::usage);
        EXPECT_THAT(extracted.error().message, HasSubstr(std::string(why)));
    }
    // In the test's folder.
    void tar(std::vector<std::string> words) const {
        words.insert(words.begin(), {"tar", "-C", tree_.root().string()});
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        pid_t child = 0;
        ASSERT_EQ(::posix_spawnp(&child, "tar", nullptr, nullptr, argv.data(), environ), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    [[nodiscard]] fs::path archive() const { return tree_.root() / "a.tar.zst"; }
    [[nodiscard]] fs::path out() const { return tree_.root() / "out"; }
    [[nodiscard]] std::string text_of(const std::string& name) const {
        return read_file(out() / name).value_or("<not there>");
    }

    test::TempTree tree_;
    std::uint64_t room_ = 0;  // of the last archive
};

std::string noise(std::size_t bytes) {
    std::mt19937 draw(7);
    std::string text(bytes, ' ');
    for (char& c : text) c = static_cast<char>(draw());
    return text;
}

TEST_F(TarZstd, WhatGoesInComesOut) {
    std::map<std::string, std::string> texts{{"empty", ""}, {"runs/r/one", "1"}};
    for (const std::size_t size : {511u, 512u, 513u, (1u << 17) - 1, 1u << 17, (1u << 17) + 1})
        texts.emplace(fmt::format("runs/r/{}", size), noise(size));
    for (const std::size_t length : {99u, 100u, 101u, 150u, 200u})
        texts.emplace("runs/" + std::string(length - 5, 'n'), fmt::format("{}", length));
    texts.emplace("runs/" + std::string(200, 'a') + "/" + std::string(200, 'b') + "/ü\n%", "long");
    pack(texts);
    const auto extracted = extract();
    ASSERT_TRUE(extracted) << to_line(extracted.error());
    for (const auto& [name, text] : texts) EXPECT_EQ(text_of(name), text) << name;
    const auto age =
        fs::last_write_time(tree_.root() / "in/empty") - fs::last_write_time(out() / "empty");
    EXPECT_LT(std::chrono::abs(age), std::chrono::seconds(1));
}

TEST_F(TarZstd, RepeatedFilesTakeLittleRoom) {
    const std::string text = noise(50'000);
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 200; ++i) texts.emplace(fmt::format("{:03}", i), text);
    pack(texts);
    EXPECT_LT(fs::file_size(archive()), 100'000u) << "of 10 MB, 50,000 bytes are new";
}

TEST_F(TarZstd, GnuTarReadsIt) {
    const std::string name = "runs/" + std::string(180, 'n') + "/x";
    pack({{name, "text"}, {"y", noise(3000)}});
    fs::create_directories(out());
    tar({"--zstd", "-xf", archive().string(), "-C", out().string()});
    EXPECT_EQ(text_of(name), "text");
    EXPECT_EQ(text_of("y"), noise(3000));
}

TEST_F(TarZstd, ReadsWhatGnuTarWrites) {
    const std::string name = std::string(180, 'n') + "/x";
    tree_.write("in/" + name, "text");
    tar({"--zstd", "--format=posix", "-cf", archive().string(), "-C", "in", "."});
    const auto extracted = extract();
    ASSERT_TRUE(extracted) << to_line(extracted.error());
    EXPECT_EQ(text_of(name), "text");
}

TEST_F(TarZstd, DamageIsRefused) {
    pack({{"a", noise(100'000)}, {"b", "text"}});
    const auto whole = read_file(archive()).value();
    for (const std::size_t kept :
         {std::size_t{0}, std::size_t{3}, whole.size() / 2, whole.size() - 1}) {
        tree_.write("a.tar.zst", whole.substr(0, kept));
        expect_refused("this is no archive of a run");
    }
    for (const std::size_t at : {std::size_t{1}, whole.size() / 2, whole.size() - 2}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        tree_.write("a.tar.zst", damaged);
        expect_refused("this is no archive of a run");
    }
    tree_.write("a.tar.zst", "not an archive");
    expect_refused("this is no archive of a run");
    fs::remove(archive());
    expect_refused("there is no such file");
}

TEST_F(TarZstd, NothingIsWrittenOutsideTheFolder) {
    tree_.write("in/evil", "evil");
    for (const char* name : {"../evil", "/tmp/compat-evil", "a/../../evil", "a/.."}) {
        ASSERT_TRUE(write_tar_zstd(archive(), tree_.root(), {{name, "in/evil"}}));
        expect_refused("it has a file");
    }
    EXPECT_FALSE(fs::exists(tree_.root() / "evil"));
    fs::create_symlink("/etc", tree_.root() / "in/link");
    tar({"--zstd", "-cf", archive().string(), "-C", "in", "link"});
    expect_refused("is no regular file");
}

TEST_F(TarZstd, AMissingFileIsAnError) {
    const auto written = write_tar_zstd(archive(), tree_.root(), {{"a", "nowhere"}});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::io);
    EXPECT_FALSE(fs::exists(archive()));
}

TEST_F(TarZstd, WhatUnpacksToMoreThanARunDoesIsRefused) {
    EXPECT_EQ(most_unpacked(0), 1ull << 30);
    EXPECT_EQ(most_unpacked(10 << 20), (10ull << 20) * 1000);
    EXPECT_EQ(most_unpacked(1ull << 60), 64ull << 30);
    pack({{"a", std::string(5000, 'x')}, {"b", "x"}, {"c", "x"}});
    const auto refused = extract_tar_zstd(archive(), out(), 5000 + 4096 + 4095);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(refused.error().message, HasSubstr("this archive unpacks to more than 12.9 KiB"));
    EXPECT_FALSE(fs::exists(out() / "c"));
    EXPECT_TRUE(extract_tar_zstd(archive(), out(), 5000 + 2 * 4096));
    pack({{"in/two/folders", "x"}});
    EXPECT_FALSE(extract_tar_zstd(archive(), out(), 3 * 4096 - 1)) << "folders take room, too";
    EXPECT_TRUE(extract_tar_zstd(archive(), out(), 3 * 4096));
    EXPECT_EQ(room_, 3 * 4096u) << "who packs it counts as who extracts it";
}

TEST_F(TarZstd, LinksAreNotPacked) {
    tree_.write("in/secret", "secret");
    fs::create_symlink("secret", tree_.root() / "in/link");
    const auto written = write_tar_zstd(archive(), tree_.root(), {{"a", "in/link"}});
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("it is a link"));
}

}  // namespace
}  // namespace compat::archive
