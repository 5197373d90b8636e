// Reading ahead: every module once and in order, and errors of either side end both.
#include "runner/cluster/module_queue.h"

#include <gtest/gtest.h>

#include <atomic>

namespace compat::cluster {
namespace {

store::StoredModule module(int number) { return {std::to_string(number), {}, {}, {}}; }

store::ReadModules numbers(int count, std::atomic<int>& read, Expected<void> result = {}) {
    return [count, &read, result](const store::ModuleVisitor& see) -> Expected<void> {
        for (int i = 0; i < count; ++i) {
            if (auto seen = see(module(i)); !seen) return seen;
            ++read;
        }
        return result;
    };
}

TEST(ReadAhead, PassesEveryModuleInOrder) {
    std::atomic<int> read = 0;
    std::vector<std::string> seen;
    const auto done = read_ahead(numbers(1000, read), [&](store::StoredModule m) -> Expected<void> {
        EXPECT_LE(read, static_cast<int>(seen.size()) + 6) << "few are held";
        seen.push_back(m.path);
        return {};
    });
    ASSERT_TRUE(done);
    ASSERT_EQ(seen.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], std::to_string(i));
}

TEST(ReadAhead, AnErrorOfTheReaderComesAfterWhatItRead) {
    std::atomic<int> read = 0;
    int seen = 0;
    const auto done = read_ahead(numbers(20, read, fail(ErrorKind::usage, "damaged")),
                                 [&](store::StoredModule) -> Expected<void> {
                                     ++seen;
                                     return {};
                                 });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "damaged");
    EXPECT_EQ(seen, 20);
}

TEST(ReadAhead, AnErrorOfTheStoreEndsTheReader) {
    std::atomic<int> read = 0;
    int seen = 0;
    const auto done =
        read_ahead(numbers(1'000'000, read), [&](store::StoredModule) -> Expected<void> {
            if (++seen < 3) return {};
            return fail(ErrorKind::database, "the disk is full");
        });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "the disk is full");
    EXPECT_EQ(seen, 3);
    EXPECT_LT(read, 20);
}

}  // namespace
}  // namespace compat::cluster
