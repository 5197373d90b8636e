// Which failures count as one, and whose code a frame is.
#include "parsers/diagnosis/signature.h"

#include <gtest/gtest.h>

#include <string>

#include "parsers/diagnosis/place.h"

namespace compat::parsers::signature_test {
namespace {

TEST(Masked, WhatDiffersFromRunToRun) {
    const struct {
        const char* text;
        const char* masked;
    } kTable[] = {
        {"0.4535 not less than 1e-05", "# not less than #"},
        {"mps:0 and cpu", "mps:# and cpu"},
        {"float64 is not float32, conv2d", "float64 is not float32, conv2d"},
        {"<object at 0x7f3A00bc>", "<object at <address>>"},
        {"No such file: '/tmp/tmpwel3qymu/x.json'", "No such file: '<path>'"},
        {"404 for https://hub.example/org/model?x=1", "# for <url>"},
        {"Root=1-68569345-5398f9603fdd85726f745123;9bd9aaf6-f50c-4c61-8642-2e75fbbba183",
         "Root=#-<hash>-<hash>;<hash>"},
        {"size [320] to [0]", "size [#] to [#]"},
        {"deadbeef is a word, facade too", "deadbeef is a word, facade too"},
        {"from -0.5 to +1.5e-07, not a-1", "from # to #, not a-#"},
        {"shapes (2x3 and 4x5), and/or/not", "shapes (# and #), and/or/not"},
        {"at e69de29b in C:\\Users\\me\\x.py", "at <hash> in <path>"},
        {"1/2 of it", "#/# of it"},
        {"", ""},
    };
    for (const auto& row : kTable) EXPECT_EQ(masked(row.text), row.masked);
}

TEST(Masked, IsOneMistakeInTheWordsOfEachDevice) {
    const std::string mixed = "RuntimeError: dtypes differ: float16, float32";
    for (const char* text : {
             "expected m1 and m2 to have the same dtype, but got: float != c10::Half",      // CPU
             "expected mat1 and mat2 to have the same dtype, but got: float != c10::Half",  // MPS
             "mat1 and mat2 must have the same dtype, but got Half and Float",              // CUDA
             "Expected arguments of same type but got torch.float32 and torch.float16",
             "Input type (MPSFloatType) and weight type (torch.HalfTensor) should be the same",
             "expected scalar type Float but found Half",
         })
        EXPECT_EQ(masked(std::string("RuntimeError: ") + text), mixed);
    // A dtype that a device lacks, one dtype, other dtypes, and a test's own words.
    for (const char* text : {
             "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
             "support float64. Please use float32 instead.",
             "RuntimeError: params and grads must have same dtype, device, and layout",
             "AssertionError: float and half should be the same",
             "RuntimeError: \"addmm\" not implemented for 'Half'",
         })
        EXPECT_EQ(masked(text), text);
    EXPECT_EQ(masked("RuntimeError: expected scalar type Long but found Float"),
              "RuntimeError: dtypes differ: float32, int64");
}

Failure failed_at(std::vector<Frame> frames, std::string message = "x 12") {
    Failure failure;
    failure.type = "ValueError";
    failure.message = std::move(message);
    failure.frames = std::move(frames);
    return failure;
}

TEST(Signature, IsThatOfTheInnermostTellingFrame) {
    const Frame test{"/home/a/src/tests/test_common.py", 17, "check"};
    const Frame library{"/v/lib/python3.11/site-packages/numpy/core.py", 3, "f"};
    const Frame standard{"/usr/lib/python3.11/subprocess.py", 9, "run"};
    EXPECT_EQ(signature_of(failed_at({test, library, standard})),
              "ValueError: x # @ tests/test_common.py:check");
    EXPECT_EQ(signature_of(failed_at({library, standard})), "ValueError: x # @ subprocess.py:run");
    EXPECT_EQ(signature_of(failed_at({})), "ValueError: x #");
}

TEST(Signature, DoesNotChangeWithLinesFoldersOrNumbers) {
    EXPECT_EQ(signature_of(failed_at({{"/a/tests/test_x.py", 1, "f"}}, "at 0xff of 3")),
              signature_of(failed_at({{"/other/b/tests/test_x.py", 99, "f"}}, "at 0xab of 4")));
    EXPECT_NE(signature_of(failed_at({{"/a/tests/test_x.py", 1, "f"}})),
              signature_of(failed_at({{"/a/tests/test_x.py", 1, "g"}})));
}

TEST(Signature, OfALongLineIsCutAndStillItsOwn) {
    const std::string line = "nur Wörter " + std::string(5000, 'w');
    const std::string a = signature_of(failed_at({}, line + "a"));
    EXPECT_LE(a.size(), kSignatureBytes);
    std::string other = line;
    other[700] = 'v';
    EXPECT_NE(a, signature_of(failed_at({}, other)));
}

TEST(Place, IsTheSameOnEveryMachine) {
    const struct {
        const char* file;
        const char* place;
    } kTable[] = {
        {"/v/lib/python3.11/site-packages/torch/autograd/__init__.py",
         "torch:autograd/__init__.py"},
        {"/usr/lib/python3/dist-packages/torch/x.py", "torch:x.py"},
        {"/v/lib/python3.11/site-packages/torchvision/x.py", "package:torchvision/x.py"},
        {"/opt/runner/compat_shim/hook.py", "shim:hook.py"},
        {"/home/u/TorchDevice/tests/test_a.py", "suite:tests/test_a.py"},
        {"/home/u/TorchDevice.worktrees/dev/TorchDevice/core/patch.py", "shim:core/patch.py"},
        {"/opt/runner/_compat_harness/events.py", "harness:events.py"},
        {"/usr/lib/python3.11/unittest/case.py", "python:unittest/case.py"},
        {"/opt/lib/python3.13t/json/decoder.py", "python:json/decoder.py"},
        {"/opt/lib/pythonic/own.py", "suite:pythonic/own.py"},
        {"<frozen importlib._bootstrap>", "python:<frozen importlib._bootstrap>"},
        {"/a/b/tests/test_x.py", "suite:tests/test_x.py"},
        {"test_x.py", "suite:test_x.py"},
        {"", "suite:"},
    };
    for (const auto& row : kTable) EXPECT_EQ(place_of(row.file).text(), row.place);
}

}  // namespace
}  // namespace compat::parsers::signature_test
