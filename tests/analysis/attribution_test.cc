#include "runner/analysis/ways/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace compat::analysis {
namespace {

using parsers::Cause;

const Way kPlainCpu{false, "cpu", "", "", true, {}};
const Way kShimOnCpu{true, "cpu", "", "missing", true, {}};
const Way kCuda{true, "cpu", "cuda", "none", true, {}};
const Way kMac{true, "cpu", "mps", "none", true, {}};
const Way kMacWithoutFallback{true, "cpu", "mps", "none", false, {}};
const Way kCudaCodeOnMps{true, "cpu", "mps", "missing", false, {}};

Way under(DiagnosticStep step, Way way) {
    way.step = step;
    return way;
}

// A failure and another way that fulfil the row, and no row before it.
std::pair<OwnWay, OtherWay> fulfilling(const AttributionRule& row) {
    OwnWay own{kMacWithoutFallback, Cause::suite_error};
    OtherWay other{kPlainCpu, row.shown, "run"};
    if (row.about == About::absent_device) own.rule = "no-device";
    if (row.about == About::shim_alone) own.way = kShimOnCpu;
    if (row.about == About::generated) {
        own.without_generated = own.cause;
        other.generated = true;
    }
    if (row.about == About::of_generated) own.generated = true;
    if (row.about == About::no_device) own.cause = Cause::hub;
    switch (row.where) {
        case Where::plain_cpu:
            break;
        case Where::fallback:
            other.way = kMac;
            break;
        case Where::float32:
            other.way = under(DiagnosticStep::float32, own.way);
            break;
        case Where::redirect_all:
            other.way = under(DiagnosticStep::redirect_all, own.way);
            break;
        case Where::alone:
            other.way = under(DiagnosticStep::alone, own.way);
            break;
        case Where::blocking:
            other.way = under(DiagnosticStep::blocking, own.way);
            break;
        case Where::bare_mac:
            own.way = kCudaCodeOnMps;
            other.way = kMacWithoutFallback;
            break;
        case Where::has_cuda:
            own.way = kCudaCodeOnMps;
            other.way = kCuda;
            break;
    }
    return {own, other};
}

TEST(AttributionRules, EveryRuleCanMatch) {
    std::set<std::string_view> ids;
    for (const AttributionRule& row : attribution_rules()) {
        EXPECT_TRUE(ids.insert(row.id).second) << row.id;
        EXPECT_FALSE(row.words.empty()) << row.id;
        const auto [own, other] = fulfilling(row);
        const auto found = attribute(own, {other});
        ASSERT_TRUE(found) << row.id;
        EXPECT_EQ(found->rule, row.id);
        EXPECT_EQ(found->cause, row.cause.value_or(own.cause)) << row.id;
        EXPECT_EQ(found->run, "run") << row.id;
    }
    EXPECT_TRUE(ids.contains(kRedirectedOnly));
}

struct AttributionCase {
    const char* what;
    OwnWay own;
    std::vector<OtherWay> others;
    Cause cause;
    std::string_view rule;
};

TEST(Attribute, RefinesTheDiagnosisByWhatOtherWaysShow) {
    using enum Shown;
    const OwnWay missing{kMacWithoutFallback, Cause::op_missing, "mps-operator"};
    const OwnWay assertion{kMacWithoutFallback, Cause::suite_assertion, "assertion"};
    const OwnWay double_on_mps{kMacWithoutFallback, Cause::dtype_limit, "mps-no-float64"};
    const OwnWay sent{kCudaCodeOnMps, Cause::suite_error, "python-error"};
    const OwnWay no_device{kMac, Cause::environment, "no-device"};
    const AttributionCase cases[] = {
        {"an operator",
         missing,
         {{kMac, passes}, {kPlainCpu, passes}},
         Cause::op_missing,
         "passes-with-fallback"},
        {"an assertion after a missing operator was caught",
         assertion,
         {{under(DiagnosticStep::fallback, kMacWithoutFallback), passes}},
         Cause::op_missing,
         "passes-with-fallback"},
        {"a test that is broken anyway",
         assertion,
         {{kMac, fails_alike}, {kPlainCpu, fails_alike}},
         Cause::upstream,
         "upstream"},
        {"the same, shown by a diagnostic attempt",
         double_on_mps,
         {{under(DiagnosticStep::float32, kMacWithoutFallback), fails_alike},
          {under(DiagnosticStep::cpu, kMacWithoutFallback), fails_alike}},
         Cause::upstream,
         "upstream"},
        {"named float64",
         double_on_mps,
         {{under(DiagnosticStep::float32, kMacWithoutFallback), fails_alike},
          {under(DiagnosticStep::cpu, kMacWithoutFallback), passes}},
         Cause::dtype_limit,
         "device-only"},
        {"code for CUDA, on plain CPU and on a bare Mac",
         no_device,
         {{kPlainCpu, fails_alike}},
         Cause::environment,
         "asks-for-absent-device"},
        {"sent to MPS",
         sent,
         {{kMacWithoutFallback, passes}, {kPlainCpu, passes}},
         Cause::suite_error,
         kRedirectedOnly},
        {"sent to MPS, but an error of the code's own",
         sent,
         {{kCuda, fails_alike}, {kMacWithoutFallback, passes}},
         Cause::suite_error,
         "same-on-cuda"},
        {"the shim alone",
         {kShimOnCpu, Cause::suite_error, "python-error"},
         {{kPlainCpu, passes}},
         Cause::shim_defect,
         "shim-only"},
        {"the shim alone, and the test asks for the device's name",
         {kShimOnCpu, Cause::device_assertion, "device-flag"},
         {{kPlainCpu, passes}},
         Cause::device_assertion,
         "device-only"},
        {"the hub was away",
         {kMac, Cause::hub, "hub-unreachable"},
         {{kPlainCpu, passes}},
         Cause::hub,
         "not-the-device"},
        {"a file of the machine's is not there",
         {kMac, Cause::environment, "missing-file"},
         {{kPlainCpu, passes}},
         Cause::environment,
         "not-the-device"},
        {"the runner broke",
         {kShimOnCpu, Cause::infrastructure, "harness"},
         {{kPlainCpu, passes}},
         Cause::infrastructure,
         "not-the-device"},
        {"the code asks for a device that is not there, and not on plain CPU",
         no_device,
         {{kPlainCpu, passes}},
         Cause::environment,
         "device-only"},
        {"another error on plain CPU",
         assertion,
         {{kPlainCpu, fails_otherwise}},
         Cause::suite_assertion,
         "fails-otherwise-on-cpu"},
        {"skipped elsewhere", assertion, {{kPlainCpu, idle}}, Cause::suite_assertion, ""},
    };
    for (const AttributionCase& c : cases) {
        const auto found = attribute(c.own, c.others);
        ASSERT_TRUE(found) << c.what;
        EXPECT_EQ(name_of(found->cause), name_of(c.cause)) << c.what;
        EXPECT_EQ(found->rule, c.rule) << c.what;
    }
}

TEST(Attribute, NeedsAnotherWayAndAFailureThatIsNotOnPlainCpu) {
    EXPECT_FALSE(attribute({kMac, Cause::suite_error}, {}));
    EXPECT_FALSE(attribute({kPlainCpu, Cause::suite_error}, {{kMac, Shown::fails_alike}}));
}

TEST(Attribute, AsksForRealWeightsUnlessGeneratedOnesPassElsewhere) {
    using enum Shown;
    const OwnWay compares{kMac, Cause::hub, "generated-numbers", Cause::tolerance};
    const auto found = [&](Way way, Shown shown, bool generated) {
        return *attribute(compares, {{std::move(way), shown, "run", {}, generated}});
    };
    const auto alike = found(kPlainCpu, fails_alike, true);
    EXPECT_EQ(alike.cause, Cause::hub) << "and not upstream";
    EXPECT_EQ(alike.rule, "needs-real-weights");
    const auto passes_there = found(kPlainCpu, passes, true);
    EXPECT_EQ(passes_there.cause, Cause::tolerance) << "the device's numbers are wrong";
    EXPECT_EQ(passes_there.rule, "device-only");
    EXPECT_EQ(found(kPlainCpu, fails_otherwise, true).cause, Cause::hub);
    // Real weights there say nothing about generated ones here.
    EXPECT_EQ(found(kPlainCpu, passes, false).rule, "");
    EXPECT_EQ(found(kPlainCpu, passes, false).cause, Cause::hub);
    EXPECT_EQ(found(kPlainCpu, fails_alike, false).rule, "");
    // Other failures of such a test are attributed as any.
    EXPECT_EQ(
        attribute({kMac, Cause::op_missing, "mps-operator"}, {{kPlainCpu, passes, "run", {}, true}})
            ->cause,
        Cause::op_missing);
    // Whether the project or what was generated for it is at fault, plain CPU cannot tell.
    const OwnWay refuses{kMac, Cause::suite_error, "shape-of-operands", {}, true};
    const auto refused = *attribute(refuses, {{kPlainCpu, fails_alike, "run", {}, true}});
    EXPECT_EQ(refused.rule, "alike-with-generated");
    EXPECT_EQ(refused.cause, Cause::suite_error) << "and not upstream";
    // With the shim alone: no device, so the shim.
    const OwnWay shimmed{kShimOnCpu, Cause::hub, "generated-values", Cause::suite_assertion};
    EXPECT_EQ(attribute(shimmed, {{kPlainCpu, passes, "run", {}, true}})->cause,
              Cause::shim_defect);
}

TEST(Attribute, NamesTheTestThatRan) {
    const OwnWay own{kMac, Cause::suite_error};
    EXPECT_EQ(attribute(own, {{kPlainCpu, Shown::passes, {}, "a"}})->as, "a");
    EXPECT_EQ(attribute(own, {{kPlainCpu, Shown::idle, {}, "a"}})->as, "a");
    EXPECT_EQ(attribute(own, {{kPlainCpu, Shown::idle, {}, "a"}, {kCuda, Shown::idle, "run"}})->as,
              "")
        << "it ran itself, too";
}

TEST(Attribute, TakesFallbackOfTheSameDeviceAlone) {
    const OwnWay own{kMacWithoutFallback, Cause::op_missing};
    Way other_policy = kMac;
    other_policy.policy = "missing";
    EXPECT_EQ(attribute(own, {{other_policy, Shown::passes}})->rule, "");
    EXPECT_EQ(attribute(own, {{kCuda, Shown::passes}})->rule, "");
    EXPECT_EQ(attribute({kMac, Cause::op_missing}, {{kMac, Shown::passes}})->rule, "")
        << "it is on already";
}

}  // namespace
}  // namespace compat::analysis
