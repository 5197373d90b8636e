#include "runner/analysis/forked_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::Failure;
using parsers::State;

constexpr const char* kModule = "tests/test_a.py";

Failure failure(std::string type, std::string message, std::string file = "/src/library/hub.py") {
    Failure made;
    made.type = std::move(type);
    made.message = std::move(message);
    made.frames = {{"/src/tests/test_a.py", 3, "test"}, {std::move(file), 9, "load"}};
    return made;
}

// With diagnosis and signature.
CaseRecord test_with(Failure failure) {
    parsers::ModuleRecord record;
    record.cases.emplace_back();
    record.cases[0].state = State::errored;
    record.cases[0].failure = std::move(failure);
    parsers::diagnose(record);
    return record.cases[0];
}

TEST(ForkedFailures, AnErrorOfSharedCodeMayBeConfirmedByAnyModule) {
    EXPECT_FALSE(needs_own_confirmation(test_with(failure("OSError", "no hub")), kModule));
    EXPECT_FALSE(needs_own_confirmation(
        test_with(failure("OSError",
                          "We couldn't connect to 'https://huggingface.co' to load the "
                          "files, and couldn't find them in the cached files.")),
        kModule));
    EXPECT_FALSE(needs_own_confirmation(
        test_with(failure("ModuleNotFoundError", "No module named 'PIL'")), kModule));
}

TEST(ForkedFailures, AMissingOperatorIsOneFailureWhereverItIsRaised) {
    const std::string text =
        "The operator 'aten::_linalg_eigh.eigenvalues' is not currently implemented for the MPS "
        "device. If you want this op to be considered for addition please comment on it.";
    const auto own = test_with(failure("NotImplementedError", text, "/src/tests/test_a.py"));
    EXPECT_FALSE(needs_own_confirmation(own, kModule));
    EXPECT_EQ(
        signatures_of(own),
        signatures_of(test_with(failure("NotImplementedError", text, "/src/library/model.py"))));
    // The default dtype belongs to the process.
    const auto dtype = test_with(
        failure("TypeError",
                "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
                "float64. Please use float32 instead.",
                "/src/tests/test_a.py"));
    EXPECT_TRUE(needs_own_confirmation(dtype, kModule));
    EXPECT_NE(signatures_of(own), signatures_of(test_with(failure(
                                      "TypeError", "no such dtype", "/src/tests/test_a.py"))));
    EXPECT_TRUE(needs_own_confirmation(
        test_with(failure("TypeError", "no such dtype", "/src/tests/test_a.py")), kModule));
}

TEST(ForkedFailures, FailuresThatAForkMayCauseNeedTheirOwnModule) {
    const Failure causes[] = {
        failure("RuntimeError",
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                "multiprocessing, you must use the 'spawn' start method"),
        failure("TimeoutError", ""),
        failure("RuntimeError", "can't start new thread"),
        failure("MemoryError", ""),
        failure("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB"),
        failure("OSError", "[Errno 98] Address already in use"),
        failure("OSError", "[Errno 24] Too many open files"),
        failure("sqlite3.OperationalError", "database is locked"),
        failure("FileExistsError", "[Errno 17] File exists: '/tmp/x'"),
        failure("RuntimeError", "context has already been set"),
        failure("RuntimeError", "cannot release un-acquired lock"),
        failure("RuntimeError",
                "cannot set number of interop threads after parallel work has "
                "started"),
        failure("concurrent.futures.process.BrokenProcessPool", "a process was terminated"),
        failure("RuntimeError", "no such worker", "/usr/lib/python3/multiprocessing/pool.py")};
    for (const Failure& cause : causes)
        EXPECT_TRUE(needs_own_confirmation(test_with(cause), kModule))
            << cause.type << ": " << cause.message;
}

TEST(ForkedFailures, ErrorsOfTheModulesFileNeedTheirOwnModule) {
    const auto own = test_with(failure("AssertionError", "1 != 2", "/src/tests/test_a.py"));
    EXPECT_TRUE(needs_own_confirmation(own, kModule));
    EXPECT_FALSE(needs_own_confirmation(own, "tests/test_b.py"));
    auto nowhere = failure("OSError", "no hub");
    nowhere.frames.clear();
    EXPECT_TRUE(needs_own_confirmation(test_with(nowhere), kModule));
    EXPECT_TRUE(needs_own_confirmation(CaseRecord(), kModule)) << "an unexpected success";
}

TEST(ForkedFailures, AMissingNetworkIsOneFailureWhereverItIsNoticed) {
    const auto in_module = test_with(
        failure("ConnectionError", "Couldn't reach 'org/images' on the Hub (OfflineModeIsEnabled)",
                "/src/tests/test_a.py"));
    const auto in_library =
        test_with(failure("OSError",
                          "We couldn't connect to 'https://huggingface.co' to load the files, and "
                          "couldn't find them in the cached files."));
    EXPECT_FALSE(needs_own_confirmation(in_module, kModule));
    EXPECT_EQ(signatures_of(in_module), signatures_of(in_library));
    EXPECT_TRUE(needs_own_confirmation(
        test_with(failure("ConnectionError", "Couldn't reach the Hub: too many open files")),
        kModule));
}

TEST(ForkedFailures, WhatAHubRefusesIsTheModulesOwn) {
    const CaseRecord refused =
        test_with(failure("huggingface_hub.errors.RepositoryNotFoundError",
                          "404 Client Error: org/model", "/src/tests/test_a.py"));
    EXPECT_EQ(refused.failure->diagnosis->cause, parsers::Cause::hub);
    EXPECT_TRUE(needs_own_confirmation(refused, kModule));
    EXPECT_NE(signatures_of(refused),
              signatures_of(test_with(failure("OSError", "We couldn't connect to 'https://hub'"))));
}

TEST(ForkedFailures, OneFailureThatNeedsItsOwnModuleIsEnough) {
    CaseRecord test = test_with(failure("OSError", "no hub"));
    const CaseRecord hang = test_with(failure("TimeoutError", ""));
    test.also.push_back(*hang.failure);
    EXPECT_TRUE(needs_own_confirmation(test, kModule));
    EXPECT_THAT(signatures_of(test),
                testing::UnorderedElementsAre(test.failure->signature, hang.failure->signature));
}

}  // namespace
}  // namespace compat::analysis
