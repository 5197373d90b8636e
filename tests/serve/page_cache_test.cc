#include "runner/serve/page_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "runner/archive/run_folder.h"
#include "tests/support/temp_tree.h"

namespace compat::serve {
namespace {

using namespace std::chrono_literals;

// Text that does not compress.
std::string noise(std::size_t size) {
    std::string text;
    unsigned state = 1;
    while (text.size() < size)
        text += static_cast<char>((state = state * 1103515245 + 12345) >> 24);
    return text;
}

class Cache : public testing::Test {
  protected:
    MadePage page(bool live, std::size_t size = 10) const {
        MadePage whole;
        whole.parts.emplace("summary", make_part(noise(size)));
        whole.live = live;
        return whole;
    }
    // Gets a page and counts how often one was made.
    PageOrError get(PageCache& cache, const std::string& key,
                    const std::function<Expected<MadePage>()>& make) {
        PageOrError got = fail(ErrorKind::io, "not called");
        cache.get(
            key,
            [&] {
                ++made;
                return make();
            },
            [](const auto& job) { job(); }, [&](const PageOrError& page) { got = page; });
        return got;
    }
    int made = 0;
};

TEST_F(Cache, KeepsAFinishedPageAndMakesALiveOneAgain) {
    PageCache cache({1 << 20, 50ms, 1h});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(get(cache, "done", [&] { return page(false); }));
    EXPECT_EQ(made, 1);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(get(cache, "live", [&] { return page(true); }));
    EXPECT_EQ(made, 2);
    std::this_thread::sleep_for(60ms);
    EXPECT_TRUE(get(cache, "live", [&] { return page(true); }));
    EXPECT_TRUE(get(cache, "done", [&] { return page(false); }));
    EXPECT_EQ(made, 3);
}

TEST_F(Cache, RestsAfterALivePageThatTookLong) {
    PageCache cache({1 << 20, 1ms, 1h});
    const auto slow = [&]() -> Expected<MadePage> {
        std::this_thread::sleep_for(100ms);
        return page(true);
    };
    EXPECT_TRUE(get(cache, "x", slow));
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(get(cache, "x", slow));
    EXPECT_EQ(made, 1);
}

TEST_F(Cache, MakesAPageAgainWhenItsRunChanges) {
    PageCache cache({1 << 20, 1h, 1h});
    const test::TempTree tree;
    tree.write("run/report.json", "{}");
    const auto folder = tree.root() / "run";
    const auto make = [&]() -> Expected<MadePage> {
        MadePage made_page = page(false);
        made_page.watched = {folder};
        made_page.stamp = stamp_of(made_page.watched);
        return made_page;
    };
    (void)get(cache, "x", make);
    (void)get(cache, "x", make);
    EXPECT_EQ(made, 1);
    std::filesystem::last_write_time(folder / "report.json",
                                     std::filesystem::file_time_type::clock::now() + 1h);
    (void)get(cache, "x", make);
    EXPECT_EQ(made, 2);
    {
        const auto lock = archive::RunLock::acquire(folder);  // it goes on
        ASSERT_TRUE(lock);
        (void)get(cache, "x", make);
        EXPECT_EQ(made, 3);
    }
    (void)get(cache, "x", make);
    EXPECT_EQ(made, 4);
    std::filesystem::remove_all(folder);
    (void)get(cache, "x", make);
    EXPECT_EQ(made, 5);
}

TEST_F(Cache, DropsWhatWasNotUsedForLongest) {
    PageCache cache({10'000, 1h, 1h});
    const auto of = [&](std::size_t size) { return [this, size] { return page(false, size); }; };
    for (const char* key : {"a", "b", "a", "c"}) (void)get(cache, key, of(4'000));
    EXPECT_EQ(made, 3);
    (void)get(cache, "a", of(4'000));
    EXPECT_EQ(made, 3) << "b was dropped, not a";
    (void)get(cache, "b", of(4'000));
    EXPECT_EQ(made, 4);
    (void)get(cache, "large", of(50'000));
    (void)get(cache, "large", of(50'000));
    EXPECT_EQ(made, 5) << "the latest is kept whatever its size";
}

TEST_F(Cache, DoesNotKeepErrors) {
    PageCache cache;
    const auto fails = []() -> Expected<MadePage> { return fail(ErrorKind::usage, "no run"); };
    EXPECT_EQ(get(cache, "x", fails).error().message, "no run");
    const auto throws = []() -> Expected<MadePage> { throw std::runtime_error("full"); };
    EXPECT_THAT(get(cache, "x", throws).error().message, testing::HasSubstr("full"));
    EXPECT_TRUE(get(cache, "x", [&] { return page(false); }));
}

TEST_F(Cache, MakesAPageOnceForAllWhoAsk) {
    PageCache cache;
    std::vector<std::function<void()>> jobs;
    int used = 0;
    for (int i = 0; i < 100; ++i)
        cache.get(
            "x",
            [&] {
                ++made;
                return page(false);
            },
            [&](std::function<void()> job) { jobs.push_back(std::move(job)); },
            [&](const PageOrError& got) { used += got.has_value(); });
    EXPECT_EQ(jobs.size(), 1U);
    EXPECT_EQ(used, 0);
    jobs.front()();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(used, 100);
}

TEST(MakePart, CanBeReadCompressedAndNot) {
    const std::string text = noise(300'000) + std::string(300'000, 'x');
    const Part part = make_part(text);
    EXPECT_LT(part.gzip->size(), text.size());
    std::string read;
    const auto body = http::unzipped_body(part.gzip, part.size);
    EXPECT_EQ(body->size(), text.size());
    for (std::string_view piece = body->next(); !piece.empty(); piece = body->next()) read += piece;
    EXPECT_EQ(read, text);
    EXPECT_EQ(make_part(text).etag, part.etag);
    EXPECT_NE(make_part(text + "y").etag, part.etag);
}

}  // namespace
}  // namespace compat::serve
