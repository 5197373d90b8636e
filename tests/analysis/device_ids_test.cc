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
    EXPECT_EQ(without_device("t.py::test_x[dtype0-cuda:0]", "cuda"),
              "t.py::test_x[dtype0-{device}]");
    EXPECT_EQ(without_device("t.py::test_x[device0]", "cpu"), "t.py::test_x[device0]");
    EXPECT_EQ(without_device("t.py::test_x[cpu-cpu]", "cpu"), "t.py::test_x[{device}-{device}]");
}

// As torch's instantiate_device_type_tests and parametrize name them.
TEST(WithoutDevice, ReplacesTheDeviceInNamesOfTorchsTests) {
    EXPECT_EQ(without_device("t.py::TestFooCPU::test_x_cpu_float32", "cpu"),
              "t.py::TestFoo{DEVICE}::test_x_{device}_float32");
    EXPECT_EQ(without_device("t.py::TestFooMPS::test_x_mps_float32", "mps"),
              "t.py::TestFoo{DEVICE}::test_x_{device}_float32");
    EXPECT_EQ(without_device("t.py::TestFooCUDA::test_x_cuda", "cuda"),
              "t.py::TestFoo{DEVICE}::test_x_{device}");
    EXPECT_EQ(without_device("t.py::TestFooCPU::test_x_mode_a_cpu[1]", "cpu"),
              "t.py::TestFoo{DEVICE}::test_x_mode_a_{device}[1]");
    EXPECT_EQ(without_device("t.py::TestFooCPU::test_x[cpu]", "cpu"), "t.py::TestFooCPU::test_x[{device}]")
        << "the class alone says nothing";
    EXPECT_EQ(without_device("t.py::TestFoo::test_x_cpu", "cpu"), "t.py::TestFoo::test_x_cpu")
        << "nor does the test";
    EXPECT_EQ(without_device("t.py::TestFooCPU::test_cpus", "cpu"), "t.py::TestFooCPU::test_cpus");
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
