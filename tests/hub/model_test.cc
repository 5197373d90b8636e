#include "runner/hub/store/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace compat::hub {
namespace {

using testing::ElementsAre;

TEST(HubNames, LeadNowhereElse) {
    for (const char* good : {"gpt2", "org/name", "a.b/c-d_e", "facebook/opt-125m"})
        EXPECT_TRUE(is_repository_name(good)) << good;
    for (const char* bad :
         {"", "/", "a/", "/a", "..", "a/..", "../a", "a/b/c", "a b", "a\n", "ä/b"})
        EXPECT_FALSE(is_repository_name(bad)) << bad;
    EXPECT_FALSE(is_repository_name(std::string(97, 'a')));
    for (const char* good : {"config.json", "a/b c/ü.txt", ".gitattributes", "..a"})
        EXPECT_TRUE(is_path(good)) << good;
    for (const char* bad : {"", "/etc/passwd", "a/../b", "..", ".", "a//b", "a/", "a\nb", "\xff"})
        EXPECT_FALSE(is_path(bad)) << bad;
    EXPECT_FALSE(is_path(std::string("a\0b", 3)));
    EXPECT_TRUE(is_revision("refs/convert/parquet"));
    EXPECT_FALSE(is_revision(""));
    EXPECT_FALSE(is_revision("a\r\nX: 1"));
}

TEST(HubAddress, IsKeptWithoutSecrets) {
    const std::vector<std::pair<const char*, const char*>> rows{
        {"https://Example.org/a?w=1&Size=2", "https://example.org/a?w=1&Size=2"},
        {"https://example.org", "https://example.org/"},
        {"HTTP://u:secret@example.org:8080/a#f", "http://example.org:8080/a"},
        {"https://cdn.example.org/x?Expires=1&Policy=abc&Signature=def&Key-Pair-Id=K&v=2",
         "https://cdn.example.org/x?v=2"},
        {"https://s3/x?X-Amz-Signature=1&X-Amz-Credential=2", "https://s3/x"},
        {"https://h/x?token=hf_abc&download=true&api_key=1", "https://h/x?download=true"},
        // Nobody knows all names of secrets, and a known one may have another address as its value.
        {"https://h/x?sesame=open&w=640", "https://h/x?sesame=sha256-2348f99874421257&w=640"},
        {"https://h/x?open", "https://h/x?sha256-2348f99874421257"},
        {"https://h/x?path=a%2Fb&file=https%3A%2F%2Fi%3Fs",
         "https://h/x?path=a%2Fb&file=sha256-6278b9affa6106e6"},
        {"https://h/x?id=hf_abcdefghijklmnopqrstuvwx", "https://h/x?id=sha256-76b2f57a96b579ae"},
        {"ftp://h/x", ""},
        {"file:///etc/passwd", ""},
        {"https:///x", ""},
        {"no address", ""},
    };
    for (const auto& [url, key] : rows) EXPECT_EQ(address_key(url), key) << url;
}

TEST(HubAddress, IsItsOwnKey) {
    const std::string key = address_key("https://u@H.org/a?x=1&sig=2&y&w=3#f");
    EXPECT_EQ(address_key(key), key);
    EXPECT_NE(address_key("https://h/a?x=1"), address_key("https://h/a?x=2"));
}

Repository repository(std::string name, std::string commit, std::set<std::string> revisions) {
    Repository one;
    one.name = std::move(name);
    one.commit = std::move(commit);
    one.revisions = std::move(revisions);
    return one;
}

TEST(HubCatalog, FindsByRevisionCommitAndAlias) {
    const std::string commit(40, 'a');
    Catalog catalog;
    Repository one = repository("openai/gpt2", commit, {"main"});
    one.aliases = {"gpt2"};
    catalog.merge(one);
    EXPECT_TRUE(catalog.find(Kind::model, "gpt2", "main"));
    EXPECT_TRUE(catalog.find(Kind::model, "openai/gpt2", commit));
    EXPECT_FALSE(catalog.find(Kind::dataset, "gpt2", "main"));
    EXPECT_FALSE(catalog.find(Kind::model, "gpt2", "v1"));
    EXPECT_TRUE(catalog.find_any(Kind::model, "gpt2"));
}

TEST(HubCatalog, AddsAndKeeps) {
    const std::string commit(40, 'a');
    Catalog catalog;
    Repository one = repository("a/b", commit, {"main"});
    one.files["x"] = {"x", 1, std::string(40, '0'), std::string(64, '1'), false, true};
    catalog.merge(one);
    Repository again = repository("a/b", commit, {"v1"});
    again.files["x"] = {"x", 1, std::string(40, '0'), "", false, false};  // only listed
    again.files["y"] = {"y", 2, std::string(40, '2'), "", false, false};
    catalog.merge(again);
    ASSERT_EQ(catalog.repositories().size(), 1U);
    const Repository& merged = catalog.repositories().front();
    EXPECT_THAT(merged.revisions, ElementsAre("main", "v1"));
    EXPECT_TRUE(merged.files.at("x").is_kept);
    EXPECT_FALSE(merged.files.at("y").is_kept);
}

TEST(HubCatalog, MovesABranchToTheNewerCommit) {
    Catalog catalog;
    catalog.merge(repository("a/b", std::string(40, 'a'), {"main", "v1"}));
    catalog.merge(repository("a/b", std::string(40, 'b'), {"main"}));
    EXPECT_EQ(catalog.find(Kind::model, "a/b", "main")->commit, std::string(40, 'b'));
    EXPECT_EQ(catalog.find(Kind::model, "a/b", "v1")->commit, std::string(40, 'a'));
}

TEST(HubCatalog, ForgetsAnAliasWithItsRepository) {
    Catalog catalog;
    Repository absent = repository("a/b", "", {"main"});
    absent.status = 404;
    absent.aliases = {"old"};
    catalog.merge(absent);
    EXPECT_EQ(catalog.find_all(Kind::model, "old").size(), 1U);
    Repository there = repository("a/b", std::string(40, 'a'), {"main"});
    catalog.merge(there);
    EXPECT_TRUE(catalog.find_all(Kind::model, "old").empty());
    there.aliases = {"new"};
    catalog.merge(there);
    EXPECT_EQ(catalog.find(Kind::model, "new", "main")->commit, std::string(40, 'a'));
    EXPECT_EQ(catalog.find_all(Kind::model, "a/b").size(), 1U);
}

// Tests that ask for names without end took a minute of the hub, in which it answered nobody.
TEST(HubCatalog, TakesNoLongerWithManyNamesAndRevisions) {
    constexpr int kMany = 100'000;
    constexpr double kMostSeconds = 15;  // of CPU; it takes one
    Catalog catalog;
    const std::clock_t begin = std::clock();
    for (int i = 0; i < kMany; ++i) {
        const std::string name = "org/none-" + std::to_string(i);
        ASSERT_FALSE(catalog.find(Kind::model, name, "main"));
        Repository absent = repository(name, "", {"main"});
        absent.status = 404;
        catalog.merge(absent);
        absent.name = "org/one";
        absent.revisions = {name};
        catalog.merge(std::move(absent));
        ASSERT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, kMostSeconds) << i;
    }
    EXPECT_TRUE(catalog.find(Kind::model, "org/none-7", "main"));
    EXPECT_TRUE(catalog.find(Kind::model, "org/one", "org/none-7"));
}

TEST(HubCatalog, ForgetsThatARepositoryWasAbsent) {
    Catalog catalog;
    Repository absent = repository("a/b", "", {"main"});
    absent.status = 404;
    catalog.merge(absent);
    EXPECT_FALSE(catalog.find_any(Kind::model, "a/b"));
    catalog.merge(repository("a/b", std::string(40, 'a'), {"main"}));
    EXPECT_EQ(catalog.repositories().size(), 1U);
    EXPECT_EQ(catalog.find(Kind::model, "a/b", "main")->status, 200U);
}

}  // namespace
}  // namespace compat::hub
