// Every way in which a GoogleTest test can end, each in a binary of its own kind: which tests there
// are is chosen by the macro that names the kind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#if defined(STATES)

TEST(States, Pass) {}
TEST(States, Fail) {
    printf("own output, no newline ");
    EXPECT_EQ(1, 2) << "the first";
    EXPECT_TRUE(false) << "the second";
}
TEST(States, Throws) { throw std::runtime_error("boom"); }
TEST(States, Skip) { GTEST_SKIP() << "not today"; }
TEST(States, DISABLED_Off) { FAIL(); }
TEST(States, PrintsWithoutNewline) { printf("50 %%"); }
// Output that looks like results: of itself, of another, of the whole.
TEST(States, Lies) {
    printf("[       OK ] States.Lies (0 ms)\n");
    printf("[  FAILED  ] States.Pass (0 ms)\n");
    printf("[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n");
    FAIL() << "and fails";
}

struct Broken : testing::Test {
    static void SetUpTestSuite() { FAIL() << "no database"; }
};
TEST_F(Broken, One) {}

#elif defined(CLOSES_STDOUT)

// The binary's own record alone has the tests after the first.
TEST(Closes, A_Stdout) { fclose(stdout); }
TEST(Closes, B_FailsUnseen) { EXPECT_EQ(3, 4); }
TEST(Closes, C_Skips) { GTEST_SKIP(); }

#elif defined(KINDS)

template <class T>
struct Typed : testing::Test {};
using Types = testing::Types<int, char>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, Size) { EXPECT_EQ(sizeof(TypeParam), 4u); }

struct Values : testing::TestWithParam<const char*> {};
TEST_P(Values, NotB) { EXPECT_STRNE(GetParam(), "b (0 ms)"); }
INSTANTIATE_TEST_SUITE_P(Some, Values, testing::Values("a", "b (0 ms)", "c\nd"));

struct Both : testing::TestWithParam<int> {};
TEST_P(Both, Runs) { EXPECT_EQ(GetParam(), 1); }
INSTANTIATE_TEST_SUITE_P(, Both, testing::Values(1));
INSTANTIATE_TEST_SUITE_P(Named, Both, testing::Values(1));

#elif defined(CRASHES)

TEST(Crashes, A_Before) {}
TEST(Crashes, B_Segfault) {
    printf("last words\n");
    fflush(stdout);
    raise(SIGSEGV);
}
TEST(Crashes, C_Between) {}
TEST(Crashes, D_Exit) { exit(3); }
TEST(Crashes, E_ExitsAsIfWell) { _exit(0); }
TEST(Crashes, F_Last) {}

#elif defined(HANGS)

TEST(Hangs, A_Before) {}
TEST(Hangs, B_Hangs) {
    for (;;) pause();
}
TEST(Hangs, C_After) {}

#elif defined(DIES_AT_EXIT)

struct AtExit {
    ~AtExit() { abort(); }
} at_exit;
TEST(AtExit, Passes) {}

#elif defined(LEAVES_A_CHILD)

TEST(Leaves, AChildThatHoldsThePipe) {
    if (fork() == 0) {
        sleep(600);
        _exit(0);
    }
}
TEST(Leaves, Next) {}

#elif defined(ENVIRONMENT)

struct Environment : testing::Environment {
    void SetUp() override { FAIL() << "no network"; }
};
const auto* const environment = testing::AddGlobalTestEnvironment(new Environment);
TEST(Under, One) {}
TEST(Under, Two) {}

#elif defined(SKIPPING)

struct Skipping : testing::Environment {
    void SetUp() override { GTEST_SKIP() << "no device"; }
};
const auto* const environment = testing::AddGlobalTestEnvironment(new Skipping);
TEST(Under, One) {}
TEST(Under, Two) {}

#elif defined(MANY)

struct Many : testing::TestWithParam<int> {};
TEST_P(Many, ATestWhoseNameIsLongEnoughForTheFilterToOutgrowOneArgument) {
    EXPECT_NE(GetParam(), 1999);
}
INSTANTIATE_TEST_SUITE_P(Numbers, Many, testing::Range(0, 2000));

#endif
