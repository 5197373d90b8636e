#include "runner/analysis/device_ids.h"

#include <gtest/gtest.h>

namespace compat::analysis {
namespace {

TEST(WithoutDevice, ReplacesTheDeviceInParameters) {
    EXPECT_EQ(without_device("t.py::test_x[cpu-float32]", "cpu"), "t.py::test_x[{device}-float32]");
    EXPECT_EQ(without_device("t.py::test_x[float32-mps]", "mps"), "t.py::test_x[float32-{device}]");
    EXPECT_EQ(without_device("t.py::test_x[mps:0-3]", "mps"), "t.py::test_x[{device}-3]");
    EXPECT_EQ(without_device("t.py::test_x[cuda]", "cuda"), "t.py::test_x[{device}]");
    EXPECT_EQ(without_device("t.py::test_x[device=cpu, n=1]", "cpu"),
              "t.py::test_x[device={device}, n=1]");
    EXPECT_EQ(without_device("t.py::test_x[cpu-cpu]", "cpu"), "t.py::test_x[{device}-{device}]");
}

TEST(WithoutDevice, LeavesTheRest) {
    for (const char* id : {"t.py::test_cpu", "t.py::test_x[cpus]", "t.py::test_x[gcpu]",
                           "cpu/t.py::test_x[1]", "t.py::test_x[cpu1]", "t.py::test_x[cpu:1]",
                           "t.py::test_x[mps]", "t.py::test_x[cpu", "", "[", "]"})
        EXPECT_EQ(without_device(id, "cpu"), id);
    EXPECT_EQ(without_device("t.py::test_x[cpu]", ""), "t.py::test_x[cpu]");
}

}  // namespace
}  // namespace compat::analysis
