// Files as people have them: packed, in UTF-16, without an end.
#include "runner/archive/imported/input_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "runner/base/files.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class InputDecoderTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "compat-test-XXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    void TearDown() override { fs::remove_all(folder); }

    [[nodiscard]] std::string made(const std::string& name, std::string_view bytes) const {
        EXPECT_TRUE(write_file(folder / name, bytes));
        return (folder / name).string();
    }
    [[nodiscard]] std::string packed(const std::string& name, std::string_view bytes) const {
        const gzFile file = ::gzopen((folder / name).c_str(), "wb");
        ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
        ::gzclose(file);
        return (folder / name).string();
    }
    [[nodiscard]] Expected<PlainFile> plain(const std::string& name,
                                            std::uint64_t most = kMostUnsized) const {
        return plain_file(name, "stdin", folder / "room" / "0", most);
    }

    fs::path folder;
};

TEST_F(InputDecoderTest, PlainFilesAreNotCopied) {
    const std::string name = made("ci.log", "OK\n");
    const auto file = plain(name);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->file, name);
    EXPECT_EQ(file->name, "ci.log");
    EXPECT_FALSE(fs::exists(folder / "room"));
}

TEST_F(InputDecoderTest, GzipIsUnpackedUpToALimit) {
    const std::string text(1 << 20, 'x');
    const std::string name = packed("ci.log.gz", text);
    const auto file = plain(name, text.size());
    ASSERT_TRUE(file) << to_line(file.error());
    EXPECT_EQ(file->name, "ci.log");
    EXPECT_EQ(read_file(file->file).value_or(""), text);
    const auto refused = plain(name, text.size() - 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(to_line(refused.error()), HasSubstr(name));
    EXPECT_THAT(to_line(refused.error()), HasSubstr("more than"));
}

TEST_F(InputDecoderTest, ConcatenatedGzipFilesAreOneFile) {
    const std::string first = read_file(packed("1.gz", "one\n")).value_or("");
    const std::string second = read_file(packed("2.gz", "two\n")).value_or("");
    const auto file = plain(made("both.gz", first + second));
    ASSERT_TRUE(file);
    EXPECT_EQ(read_file(file->file).value_or(""), "one\ntwo\n");
}

TEST_F(InputDecoderTest, TruncatedGzipIsRefused) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919);
    const std::string bytes = read_file(packed("whole.gz", text)).value_or("");
    for (const size_t size : {bytes.size() / 2, bytes.size() - 3, size_t{12}}) {
        const auto cut = plain(made("cut.log.gz", bytes.substr(0, size)));
        ASSERT_FALSE(cut) << size;
        EXPECT_THAT(to_line(cut.error()), HasSubstr("breaks off")) << size;
        EXPECT_THAT(to_line(cut.error()), HasSubstr("gzip -dc")) << size;
    }
    std::string wrong = bytes;
    wrong[bytes.size() / 2] ^= 0x55;
    EXPECT_FALSE(plain(made("wrong.gz", wrong)));
}

// Longer than what is converted at a time, with a pair on each border that there may be.
TEST_F(InputDecoderTest, Utf16BecomesUtf8) {
    for (const bool little : {true, false}) {
        const auto bytes_of = [&](const std::u16string& text) {
            std::string bytes;
            for (const char16_t c : text) {
                const char high = static_cast<char>(c >> 8), low = static_cast<char>(c & 0xFF);
                bytes += little ? low : high;
                bytes += little ? high : low;
            }
            return bytes;
        };
        for (size_t before = 65'530; before < 65'540; ++before) {
            const auto file =
                plain(made("ci.log", bytes_of(u"\uFEFF" + std::u16string(before, u'a') +
                                              u"\U0001F600\u00e4")));
            ASSERT_TRUE(file);
            EXPECT_EQ(read_file(file->file).value_or(""),
                      std::string(before, 'a') + "\xF0\x9F\x98\x80\xC3\xA4");
        }
        const std::u16string half{u'\xFEFF', u'a', u'\xD83D', u'b', u'\xDE00', u'\xD83D'};
        const auto broken = plain(made("half.log", bytes_of(half) + "x"));
        ASSERT_TRUE(broken);
        EXPECT_EQ(read_file(broken->file).value_or(""),
                  "a\xEF\xBF\xBD"
                  "b\xEF\xBF\xBD\xEF\xBF\xBD");
    }
}

TEST_F(InputDecoderTest, OtherArchivesAreRefusedWithTheirCommand) {
    const auto zip = plain(made("logs.zip", "PK\x03\x04 and more"));
    ASSERT_FALSE(zip);
    EXPECT_EQ(zip.error().kind, ErrorKind::usage);
    EXPECT_THAT(to_line(zip.error()), HasSubstr("this is a zip archive: unpack it with `unzip "));
}

}  // namespace
}  // namespace compat::archive
