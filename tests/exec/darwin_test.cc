// The parts of the macOS code that need no macOS. Not here: what asks its kernel, which has never
// been run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/exec/darwin/process_arguments.h"

namespace compat::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string block_of(int count, std::string_view rest) {
    return std::string(reinterpret_cast<const char*>(&count), sizeof count) + std::string(rest);
}

TEST(ProcessArguments, TakesArgumentsAndEnvironmentFromABlock) {
    using namespace std::literals;
    const auto found = parse_process_arguments(
        block_of(3, "/usr/bin/env\0\0\0\0python\0\0-c\0COMPAT_JOB=run/1\0A=\0\0ptr_munge=1\0"sv));
    EXPECT_THAT(found.argv, ElementsAre("python", "", "-c"));
    EXPECT_THAT(found.environment, ElementsAre("COMPAT_JOB=run/1", "A="));
}

TEST(ProcessArguments, ReadsABlockWithoutEnvironment) {
    using namespace std::literals;
    const auto found = parse_process_arguments(block_of(1, "/sbin/launchd\0\0/sbin/launchd\0"sv));
    EXPECT_THAT(found.argv, ElementsAre("/sbin/launchd"));
    EXPECT_THAT(found.environment, IsEmpty());
}

TEST(ProcessArguments, SurvivesAnyBlock) {
    using namespace std::literals;
    EXPECT_THAT(parse_process_arguments("").argv, IsEmpty());
    EXPECT_THAT(parse_process_arguments("abc").argv, IsEmpty());
    EXPECT_THAT(parse_process_arguments(block_of(1'000'000'000, "/x\0y"sv)).argv, ElementsAre("y"));
    EXPECT_THAT(parse_process_arguments(block_of(-1, "/x\0A=1"sv)).argv, IsEmpty());
    EXPECT_THAT(parse_process_arguments(block_of(2, "no end"sv)).argv, IsEmpty());
}

}  // namespace
}  // namespace compat::exec
