#include "runner/analysis/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace compat::analysis {
namespace {

using parsers::Cause;

TEST(JudgementRules, EveryRuleCanMatch) {
    for (const JudgementRule& row : judgement_rules()) {
        Evidence evidence;
        evidence.cause = row.cause.value_or(Cause::suite_error);
        evidence.rule = row.rule;
        evidence.gap = row.gap;
        constexpr std::array<std::string_view, 4> devices{"", "cpu", "cuda", "mps"};
        evidence.device = devices[static_cast<std::size_t>(row.device)];
        evidence.after_refusal = row.after_refusal;
        evidence.redirected_alone = row.redirected_alone;
        evidence.random = row.random;
        EXPECT_EQ(&judge(evidence), &row) << "another rule matches first: " << row.advice;
    }
}

TEST(JudgementRules, EveryRuleHasAdvice) {
    for (const JudgementRule& row : judgement_rules())
        EXPECT_TRUE(row.gap || !row.advice.empty()) << row.title;
    for (std::size_t i = 0; i < kJudgements.size(); ++i)
        EXPECT_FALSE(words_of(static_cast<Judgement>(i)).words.empty());
}

TEST(JudgementRules, OtherRandomNumbersExplainNeitherRefusalsNorDevices) {
    using enum Judgement;
    for (const JudgementRule& row : judgement_rules())
        if (row.may_be_random) {
            EXPECT_TRUE(row.judgement == unexplained || row.judgement == redirection) << row.advice;
            EXPECT_FALSE(row.gap || row.after_refusal || row.random) << row.advice;
            EXPECT_TRUE(row.cause != Cause::crash && row.cause != Cause::timeout) << row.advice;
        }
    Evidence evidence{Cause::tolerance, "not-close", {}, "mps"};
    EXPECT_TRUE(judge(evidence).may_be_random);
    evidence.random = true;
    EXPECT_EQ(judge(evidence).judgement, Judgement::random);
    evidence.redirected_alone = true;
    EXPECT_EQ(judge(evidence).judgement, Judgement::random);
}

struct Case {
    Evidence evidence;
    Judgement judgement;
};

TEST(Judge, SeparatesTheDeviceTheCodeTheSuiteAndTheSimulation) {
    using enum Judgement;
    const Case cases[] = {
        {{Cause::op_missing, "mps-operator", GapKind::op_unsupported, "mps"}, device_limit},
        {{Cause::dtype_limit, "mps-no-float64", GapKind::dtype_unsupported, "mps"}, device_limit},
        {{Cause::op_missing, "device-limit-of-mps", {}, "mps"}, device_limit},
        {{Cause::op_missing, "refused-symbol", GapKind::missing_symbol, "mps"}, device_limit},
        {{Cause::op_missing, "refused-symbol", GapKind::missing_symbol, "cuda"}, simulator},
        {{Cause::op_missing, "not-simulated", {}, "mps"}, simulator},
        {{Cause::dtype_limit, "kernel-of-dtype", GapKind::dtype_unsupported, "mps"}, simulator},
        {{Cause::op_missing, "could-not-run", GapKind::op_unsupported, "cpu"}, simulator},
        {{Cause::shim_defect, "innermost-in-shim", {}, "cuda"}, simulator},
        {{Cause::infrastructure, "harness", {}, "mps"}, simulator},
        {{Cause::device_mismatch, "same-device", {}, "cuda"}, device_handling},
        {{Cause::environment, "no-device", {}, "mps"}, device_handling},
        {{Cause::environment, "no-device", {}, "cuda"}, environment},
        {{Cause::device_assertion, "device-flag", {}, "mps"}, device_asserted},
        {{Cause::hub, "network", {}, "mps"}, environment},
        {{Cause::tolerance, "not-close", {}, "cuda"}, unexplained},
        {{Cause::suite_assertion, "assertion", {}, "mps"}, unexplained},
        {{Cause::unknown, "", {}, "mps"}, unexplained},
    };
    for (const Case& c : cases)
        EXPECT_EQ(words_of(judge(c.evidence).judgement).name, words_of(c.judgement).name)
            << name_of(c.evidence.cause) << " " << c.evidence.rule << " " << c.evidence.device;
}

}  // namespace
}  // namespace compat::analysis
