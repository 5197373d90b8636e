#include "runner/hub/store/lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/hub/store/digest.h"
#include "tests/support/temp_tree.h"

namespace compat::hub {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kOid(40, '1'), kSha(64, '2');

Catalog example() {
    Catalog catalog;
    Repository one;
    one.name = "org/name";
    one.aliases = {"name"};
    one.revisions = {"main", "v1"};
    one.commit = std::string(40, 'a');
    one.gated = "auto";
    one.info = {{"pipeline_tag", "fill-mask"}, {"tags", {"x", "ü"}}};
    one.files["a.json"] = {"a.json", 3, kOid, kSha, false, true};
    one.files["b.bin"] = {"b.bin", 1'000'000'000'000, kOid, kSha, true, false};
    one.files["c.txt"] = {"c.txt", 0, kOid, "", false, false};
    catalog.merge(one);
    Repository absent;
    absent.kind = Kind::dataset;
    absent.name = "gone";
    absent.revisions = {"main"};
    absent.status = 401;
    absent.error = "RepoNotFound";
    catalog.merge(absent);
    catalog.merge(Address{"https://h/x.jpg", 200, "image/jpeg", 5, kSha});
    catalog.merge(Address{"https://h/none", 404, "", 0, ""});
    return catalog;
}

TEST(HubLock, IsReadAsItWasWritten) {
    const std::string text = lock_text(example());
    auto read = parse_lock(text, "hub.lock.json");
    ASSERT_TRUE(read) << to_line(read.error());
    EXPECT_EQ(lock_text(*read), text);
    const Repository* one = read->find(Kind::model, "name", "v1");
    ASSERT_TRUE(one);
    EXPECT_EQ(one->gated, "auto");
    EXPECT_TRUE(one->files.at("a.json").is_kept);
    EXPECT_TRUE(one->files.at("b.bin").is_lfs);
    EXPECT_FALSE(one->files.at("b.bin").is_kept);
    EXPECT_EQ(one->files.at("b.bin").size, 1'000'000'000'000U);
    EXPECT_EQ(read->find(Kind::dataset, "gone", "main")->status, 401U);
    EXPECT_EQ(read->find_address("https://h/none")->status, 404U);
}

TEST(HubLock, AnAddressThatIsThereHasContent) {
    const auto read = parse_lock(
        "{\"format\":1,\n\"addresses\":[{\"url\":\"https://h/x\",\"status\":200,\"size\":0}]}",
        "hub.lock.json");
    ASSERT_FALSE(read);
    EXPECT_THAT(to_line(read.error()), HasSubstr("\"sha256\" is missing"));
}

TEST(HubLock, IsNotWrittenWhereItCouldNotBeRead) {
    Catalog catalog;
    Repository one;
    one.name = "org/name";
    one.commit = std::string(40, 'a');
    for (int i = 0; i < 70'000; ++i) {
        std::string path = fmt::format("{:0>1000}", i);
        one.files[path] = {path, 0, kOid, kSha, false, true};
    }
    catalog.merge(one);
    test::TempTree tree;
    const auto written = write_lock(tree.root() / "hub.lock.json", catalog);
    ASSERT_FALSE(written);
    EXPECT_THAT(to_line(written.error()), HasSubstr("at most 64 MiB"));
    EXPECT_FALSE(fs::exists(tree.root() / "hub.lock.json"));
}

TEST(HubLock, HasALineForEachFileInOrder) {
    const std::string text = lock_text(example());
    EXPECT_LT(text.find("\n {\"oid\":\"" + kOid + "\",\"path\":\"a.json\""), text.find("b.bin"));
    EXPECT_THAT(lock_text({}), StartsWith("{\n\"format\": 1,"));
    EXPECT_TRUE(parse_lock(lock_text({}), "x"));
}

// What is wrong, and at which line and column people find it.
TEST(HubLock, NamesThePlaceOfAnError) {
    const std::string commit(40, 'a');
    const auto with = [&](const std::string& files) {
        return "{\"format\": 1, \"repositories\": [\n {\"kind\": \"model\", \"name\": \"a/b\", "
               "\"revisions\": [\"main\"], \"commit\": \"" +
               commit + "\",\n  \"files\": [" + files + "]}]}";
    };
    const std::vector<std::tuple<std::string, std::string, std::string>> rows{
        {"", "l:1:1", ""},
        {"{\"format\": 1,\n", "l:2:1", ""},
        {"[]", "l:1:1", "an object"},
        {"{\"format\": 2}", "l:1:12", "format 1"},
        {"{\"format\": 1, \"x\": 1}", "l:1:20", "unknown key"},
        {"{\"format\": 1, \"repositories\": {}}", "l:1:31", "a list"},
        {with("{\"path\": \"../x\", \"size\": 1, \"oid\": \"" + kOid + "\", \"listed\": true}"),
         "l:3:22", "a path inside"},
        {with("{\"path\": \"x\", \"size\": -1, \"oid\": \"" + kOid + "\", \"listed\": true}"),
         "l:3:35", "number of bytes"},
        {with("{\"path\": \"x\", \"size\": 1, \"oid\": \"1\", \"listed\": true}"), "l:3:45",
         "40 lower-case"},
        {with("{\"path\": \"x\", \"size\": 1, \"oid\": \"" + kOid + "\"}"), "l:3:13",
         "\"sha256\" is missing"},
        {with("7"), "l:3:13", "an object"},
    };
    for (const auto& [text, place, words] : rows) {
        const auto read = parse_lock(text, "l");
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::suite);
        EXPECT_THAT(to_line(read.error()), StartsWith(place)) << text;
        EXPECT_THAT(to_line(read.error()), HasSubstr(words)) << text;
    }
}

TEST(HubLock, ReadsAnyBytesWithoutHarm) {
    for (const std::string& text :
         {std::string(100'000, '['), std::string("{\"a\":") + std::string(5'000, '{'),
          std::string("\xff\xfe"), std::string("{\"format\": 1e999}"),
          std::string("{\"format\": 1, \"repositories\": [{}]}"), std::string("\0", 1)})
        EXPECT_FALSE(parse_lock(text, "l"));
}

// All that a hub may say: whatever of it is kept can be read again.
TEST(HubLock, KeepsOnlyInfoThatCanBeReadAgain) {
    json info{{"pipeline_tag", "x"},
              {"tags", std::string("\xff\xfe bytes")},
              {"cardData", json::parse(std::string(20, '[') + std::string(20, ']'))},
              {"config", std::string(20'000, 'x')},
              {"safetensors", json::parse("1e300")},
              {"author", nullptr},
              {"token", "hf_secret"}};
    info["mask_token"] = std::numeric_limits<double>::infinity();
    const json kept = kept_info(info);
    EXPECT_EQ(kept["pipeline_tag"], "x");
    for (const char* left_out : {"cardData", "config", "author", "token", "mask_token"})
        EXPECT_FALSE(kept.contains(left_out)) << left_out;
    Catalog catalog;
    Repository one;
    one.name = "a/b";
    one.commit = std::string(40, 'a');
    one.info = kept;
    catalog.merge(one);
    const auto read = parse_lock(lock_text(catalog), "l");
    ASSERT_TRUE(read) << to_line(read.error());
    EXPECT_EQ(lock_text(*read), lock_text(catalog));
}

}  // namespace
}  // namespace compat::hub
