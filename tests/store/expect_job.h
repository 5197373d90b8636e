// Compares two attempts part by part, so that a failing test says where they differ.
#pragma once

#include <gtest/gtest.h>

#include "runner/store/store.h"

namespace compat::store {

inline void expect_same(const JobResult& found, const JobResult& expected) {
    const auto& a = found.record;
    const auto& b = expected.record;
    EXPECT_EQ(a.path, b.path);
    EXPECT_EQ(a.outcome, b.outcome);
    EXPECT_EQ(a.collected, b.collected);
    EXPECT_EQ(a.shim, b.shim);
    EXPECT_EQ(a.closing, b.closing);
    EXPECT_EQ(a.device_events, b.device_events);
    EXPECT_EQ(a.kernels, b.kernels);
    EXPECT_EQ(a.collectives, b.collectives);
    EXPECT_EQ(a.optimizer_steps, b.optimizer_steps);
    EXPECT_EQ(a.diagnostics, b.diagnostics);
    EXPECT_EQ(found.leaked, expected.leaked);
    ASSERT_EQ(a.cases.size(), b.cases.size());
    for (size_t i = 0; i < a.cases.size(); ++i) {
        EXPECT_EQ(a.cases[i].id, b.cases[i].id);
        EXPECT_EQ(a.cases[i].name, b.cases[i].name);
        EXPECT_EQ(a.cases[i].state, b.cases[i].state);
        EXPECT_EQ(a.cases[i].location, b.cases[i].location);
        EXPECT_EQ(a.cases[i].failure, b.cases[i].failure) << a.cases[i].id;
        EXPECT_EQ(a.cases[i].also, b.cases[i].also) << a.cases[i].id;
        EXPECT_EQ(a.cases[i].subcases, b.cases[i].subcases) << a.cases[i].id;
        EXPECT_EQ(a.cases[i], b.cases[i]) << a.cases[i].id;
    }
    EXPECT_EQ(a, b);
    EXPECT_EQ(found, expected);
}

inline void expect_same(const std::vector<JobResult>& found,
                        const std::vector<JobResult>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) expect_same(found[i], expected[i]);
}

}  // namespace compat::store
