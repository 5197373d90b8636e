#include "runner/base/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <vector>

namespace compat {
namespace {

TEST(Worker, DoesAllTasksInOrderOnAnotherThread) {
    std::vector<int> done;
    std::thread::id thread;
    Worker worker(3);
    for (int i = 0; i < 1000; ++i)
        worker.add([&, i] {
            done.push_back(i);
            thread = std::this_thread::get_id();
        });
    worker.finish();
    ASSERT_EQ(done.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
    EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(Worker, FewTasksWait) {
    std::promise<void> gate;
    std::atomic<int> added = 0;
    Worker worker(2);
    std::thread adder([&] {
        worker.add([opened = gate.get_future().share()] { opened.wait(); });
        for (int i = 0; i < 10; ++i) {
            worker.add([] {});
            ++added;
        }
    });
    while (added < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(added, 2);
    gate.set_value();
    adder.join();
    worker.finish();
    EXPECT_EQ(added, 10);
}

TEST(Worker, WhatATaskThrowsEndsTheWork) {
    int done = 0;
    Worker worker(1);
    worker.add([&] { ++done; });
    worker.add([] { throw std::runtime_error("no memory"); });
    for (int i = 0; i < 10; ++i) worker.add([&] { done += 100; });
    EXPECT_THROW(worker.finish(), std::runtime_error);
    EXPECT_EQ(done, 1);
}

TEST(Worker, ItsEndDropsTheTasksThatWait) {
    std::atomic<int> done = 0;
    std::promise<void> started, gate;
    std::thread opener;
    {
        Worker worker(5);
        worker.add([&, opened = gate.get_future().share()] {
            started.set_value();
            opened.wait();
        });
        started.get_future().wait();
        worker.add([&] { ++done; });
        opener = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            gate.set_value();
        });
    }
    opener.join();
    EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace compat
