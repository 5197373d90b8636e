#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runner/analysis/changes/change_class.h"
#include "runner/analysis/changes/environment.h"

namespace compat::analysis {
namespace {

using parsers::Cause;
using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;
using enum ChangeClass;

ComparedTest in_state(State state) { return {state, "AssertionError: # != # @ t.py:f", {}, false}; }
ComparedTest broken(std::string_view signature,
                    std::optional<Cause> cause = Cause::suite_assertion) {
    return {State::failed, signature, cause, false};
}
ComparedTest flaky_pass() { return {State::passed, {}, {}, true}; }

// The specification for every pair of states, written out.
constexpr State kGood[] = {State::passed, State::xfailed, State::xpassed};
constexpr State kBroken[] = {State::failed, State::errored, State::crashed};
constexpr State kIdle[] = {State::skipped, State::not_run};

template <class Before, class After>
void expect_class(ChangeClass expected, const Before& before, const After& after) {
    for (const State a : before)
        for (const State b : after)
            EXPECT_EQ(change_class({in_state(a), in_state(b)}), expected)
                << name_of(a) << " → " << name_of(b);
}

TEST(ChangeClasses, FollowTheKindsOfBothStates) {
    expect_class(unchanged, kGood, kGood);
    expect_class(regressed, kGood, kBroken);
    expect_class(newly_skipped, kGood, kIdle);
    expect_class(fixed, kBroken, kGood);
    expect_class(still_failing_same, kBroken, kBroken);
    expect_class(newly_skipped, kBroken, kIdle);
    expect_class(newly_run, kIdle, kGood);
    expect_class(new_failing, kIdle, kBroken);
    expect_class(unchanged, kIdle, kIdle);
}

TEST(ChangeClasses, TellWhichRunHasTheTest) {
    for (const std::string_view name : parsers::kStateNames) {
        const State state = *parsers::state_of(name);
        EXPECT_EQ(change_class({in_state(state), std::nullopt}), gone) << name;
    }
    for (const State state : kGood) EXPECT_EQ(change_class({{}, in_state(state)}), new_passing);
    for (const State state : kBroken) EXPECT_EQ(change_class({{}, in_state(state)}), new_failing);
    for (const State state : kIdle) EXPECT_EQ(change_class({{}, in_state(state)}), newly_skipped);
}

TEST(ChangeClasses, AnotherSignatureIsAChangedFailure) {
    EXPECT_EQ(change_class({broken("a"), broken("a")}), still_failing_same);
    EXPECT_EQ(change_class({broken("a"), broken("b")}), still_failing_changed);
    EXPECT_EQ(change_class({broken("a"), broken("")}), still_failing_same);
    ComparedTest crashed = broken("");
    crashed.state = State::crashed;
    EXPECT_EQ(change_class({broken("a"), crashed}), still_failing_changed);
}

TEST(ChangeClasses, AnAccidentInEitherRunIsSpurious) {
    for (std::size_t i = 0; i < parsers::kCauses.size(); ++i) {
        const auto cause = static_cast<Cause>(i);
        const bool accident = cause == Cause::resource || cause == Cause::timeout ||
                              cause == Cause::hub || cause == Cause::infrastructure;
        const auto failure = broken("a", cause);
        const auto expect = [&](ChangeClass otherwise, const TestInTwoRuns& test) {
            EXPECT_EQ(change_class(test), accident ? spurious : otherwise) << name_of(cause);
        };
        expect(regressed, {in_state(State::passed), failure});
        expect(fixed, {failure, in_state(State::passed)});
        expect(new_failing, {std::nullopt, failure});
        expect(new_failing, {in_state(State::skipped), failure});
        EXPECT_EQ(change_class({failure, failure}), still_failing_same) << "nothing changed";
        expect(still_failing_changed, {broken("b"), failure});
        EXPECT_EQ(change_class({failure, std::nullopt}), gone) << name_of(cause);
    }
    EXPECT_EQ(change_class({in_state(State::passed), in_state(State::timed_out)}), spurious);
    EXPECT_EQ(change_class({in_state(State::timed_out), in_state(State::passed)}), spurious);
    // The cause of a good test, as an expected failure may have one, ends nothing.
    EXPECT_EQ(
        change_class({in_state(State::passed), ComparedTest{State::xfailed, "a", Cause::hub}}),
        unchanged);
}

TEST(ChangeClasses, AModuleLostByAccidentLosesNoTest) {
    EXPECT_EQ(change_class({in_state(State::passed), {}, false, true}), spurious);
    EXPECT_EQ(change_class({{}, in_state(State::failed), false, true}), spurious);
    EXPECT_EQ(change_class({in_state(State::passed), in_state(State::not_run), false, true}),
              spurious);
    EXPECT_EQ(change_class({in_state(State::not_run), in_state(State::failed), false, true}),
              spurious);
    EXPECT_EQ(change_class({in_state(State::skipped), in_state(State::not_run), false, true}),
              unchanged);
    EXPECT_EQ(change_class({in_state(State::passed), in_state(State::skipped), false, true}),
              newly_skipped);
    EXPECT_EQ(change_class({in_state(State::passed), in_state(State::failed), false, true}),
              regressed);
}

TEST(ChangeClasses, NoiseIsNeverARegression) {
    for (const auto& [before, after] :
         {std::pair{State::passed, State::failed}, std::pair{State::failed, State::passed},
          std::pair{State::skipped, State::failed}, std::pair{State::passed, State::timed_out}})
        EXPECT_EQ(change_class({in_state(before), in_state(after), true}), flaky);
    EXPECT_EQ(change_class({in_state(State::passed), in_state(State::passed), true}), unchanged);
    EXPECT_EQ(change_class({broken("a"), broken("a"), true}), still_failing_same);
    EXPECT_EQ(change_class({in_state(State::passed), {}, true}), gone);
}

TEST(ChangeClasses, APassThatNeededARetryIsFlaky) {
    EXPECT_EQ(change_class({in_state(State::passed), flaky_pass()}), flaky);
    EXPECT_EQ(change_class({std::nullopt, flaky_pass()}), flaky);
    EXPECT_EQ(change_class({broken("a"), flaky_pass()}), flaky);
    EXPECT_EQ(change_class({flaky_pass(), broken("a")}), flaky);
    EXPECT_EQ(change_class({flaky_pass(), in_state(State::passed)}), unchanged);
    EXPECT_EQ(change_class({flaky_pass(), std::nullopt}), gone);
}

TEST(ChangeClasses, HaveNamesThatAreReadBack) {
    for (std::size_t i = 0; i < kChangeClasses.size(); ++i) {
        const auto each = static_cast<ChangeClass>(i);
        EXPECT_EQ(change_class_of(name_of(each)), each);
        EXPECT_FALSE(row_of(each).means.empty());
        EXPECT_EQ(row_of(each).bad, each == regressed || each == new_failing) << name_of(each);
        EXPECT_EQ(row_of(each).differs, each != unchanged && each != still_failing_same);
    }
    EXPECT_EQ(change_class_of("worse"), std::nullopt);
}

TEST(EnvironmentChanges, NameWhatDiffersMostTellingFirst) {
    EXPECT_THAT(
        environment_changes(
            R"({"cores": 2, "packages": {"numpy": "1.0", "old": "3"}, "torch": {"version": "2.1"},
                "settings": {"jobs": "2", "results": "/a"}, "volatile": {"load": [1]}, "same": [1]})",
            R"({"cores": 4, "packages": {"numpy": "2.0", "new": "1"}, "torch": {"version": "2.2"},
                "settings": {"jobs": "2", "results": "/b"}, "volatile": {"load": [2]}, "same": [1]})"),
        ElementsAre(EnvironmentChange{"torch.version", "2.1", "2.2"},
                    EnvironmentChange{"packages.new", std::nullopt, "1"},
                    EnvironmentChange{"packages.numpy", "1.0", "2.0"},
                    EnvironmentChange{"packages.old", "3", std::nullopt},
                    EnvironmentChange{"cores", "2", "4"}));
}

TEST(EnvironmentChanges, ASettingThatAnotherVersionDoesNotKnowIsNone) {
    EXPECT_THAT(environment_changes(R"({"settings": {"jobs": "2"}})",
                                    R"({"settings": {"jobs": "3", "new": "on"}})"),
                ElementsAre(EnvironmentChange{"settings.jobs", "2", "3"}));
}

TEST(EnvironmentChanges, APartThatOneRunLacksIsOneChange) {
    EXPECT_THAT(environment_changes(R"({"devices": [{"name": "a", "dtypes": {"fp16": true}}]})",
                                    R"({"devices": [{"name": "b"}], "shim": ["x", {"y": 1}]})"),
                ElementsAre(EnvironmentChange{"devices.0.dtypes", R"({"fp16":true})", std::nullopt},
                            EnvironmentChange{"devices.0.name", "a", "b"},
                            EnvironmentChange{"shim", std::nullopt, R"(["x",{"y":1}])"}));
    EXPECT_THAT(environment_changes(R"({"devices": [1]})", R"({"devices": [1, 2]})"),
                ElementsAre(EnvironmentChange{"devices", "[1]", "[1,2]"}));
}

TEST(EnvironmentChanges, NothingIsKnownOfAnImportedRun) {
    EXPECT_THAT(environment_changes("{}", "not JSON"), IsEmpty());
    EXPECT_FALSE(has_fingerprint("{}"));
    EXPECT_TRUE(has_fingerprint(R"({"os": "Debian"})"));
}

TEST(CountDrop, IsMoreThanThePastRunsDiffer) {
    const std::int64_t past[] = {100, 97, 99};
    EXPECT_EQ(count_drop("test", 100, 97, past), std::nullopt);
    EXPECT_EQ(count_drop("test", 100, 96, past), (CountDrop{"test", 100, 96, 3}));
    EXPECT_EQ(count_drop("test", 100, 103, past), std::nullopt);
    EXPECT_EQ(count_drop("module", 5, 4, {}), (CountDrop{"module", 5, 4, 0}));
    EXPECT_EQ(count_drop("module", 5, 5, {}), std::nullopt);
}

TEST(ChangeClasses, BlameGeneratedWeightsOnlyWhereTheyNeverSufficed) {
    ComparedTest compares = broken("AssertionError: # != # @ t.py:f", Cause::hub);
    compares.generated = compares.blames_generated = true;
    ComparedTest with_generated = in_state(State::passed), with_real = in_state(State::passed);
    with_generated.generated = true;
    EXPECT_EQ(change_class({with_generated, compares}), regressed) << "the same weights";
    EXPECT_EQ(change_class({compares, with_generated}), fixed);
    EXPECT_EQ(change_class({with_real, compares}), spurious) << "other weights";
    compares.blames_generated = false;
    EXPECT_EQ(change_class({with_generated, compares}), spurious) << "the network";
}

}  // namespace
}  // namespace compat::analysis
