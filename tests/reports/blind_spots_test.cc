// Tests blind spots: by state, by the shipped rules, and in a run's model.
#include "reports/overview/blind_spots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/diagnosis/diagnose.h"
#include "tests/reports/sample_run.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::FieldsAre;

// Each kind by the example of a shipped rule: no test can have one that no rule finds.
TEST(BlindSpots, FollowFromTheRulesThatAreShipped) {
    const struct {
        const char* rule;
        std::optional<Blind> spot;
    } table[] = {{"host-out-of-memory", Blind::memory},
                 {"memory-limit", Blind::memory},
                 {"disk-full", Blind::disk},
                 {"sandbox-full", Blind::disk},
                 {"sandbox-no-network", Blind::network},
                 {"sandbox-refused", Blind::network},
                 {"sandbox-variable", std::nullopt},
                 {"file-handles", Blind::resources},
                 {"hub", Blind::network},
                 {"network", Blind::network},
                 {"generated-numbers", Blind::real_weights},
                 {"generated-values", Blind::real_weights},
                 {"time-out", Blind::timed_out},
                 {"harness", Blind::runner},
                 {"assertion", std::nullopt}};
    const parsers::Rules& rules = parsers::Rules::shipped();
    for (const auto& [id, spot] : table) {
        const auto rule = std::find_if(rules.all().begin(), rules.all().end(),
                                       [&](const parsers::Rule& r) { return r.id == id; });
        ASSERT_NE(rule, rules.all().end()) << id;
        ASSERT_FALSE(rule->examples.empty()) << id;
        const auto& example = rule->examples.front();
        const auto diagnosis =
            rules.diagnose(example.failure, example.state,
                           {!rule->isolation.empty(), rule->isolation != "no-network"},
                           !rule->generated_instead_of.empty());
        EXPECT_EQ(blind_spot_of(example.state, &diagnosis), spot) << id;
    }
    EXPECT_EQ(blind_spot_of(State::timed_out, nullptr), Blind::timed_out);
    EXPECT_EQ(blind_spot_of(State::not_run, nullptr), Blind::not_run);
    EXPECT_EQ(blind_spot_of(State::failed, nullptr), std::nullopt);
    // An expected failure is no accident.
    const parsers::Diagnosis hub{parsers::Cause::hub, {}, {}, "hub", {}};
    EXPECT_EQ(blind_spot_of(State::xfailed, &hub), std::nullopt);
}

TEST(BlindSpots, OfARunAreCountedOnceForATest) {
    test::TempTree folder;
    samples::make_source(folder.root() / "src");
    samples::Run stored = samples::run(folder.root() / "src");
    const samples::Model model = samples::model(stored, folder.root() / "run");
    EXPECT_THAT(model.blind_spots, ElementsAre(FieldsAre("not_run", testing::_, 1),
                                               FieldsAre("timed_out", testing::_, 1),
                                               FieldsAre("untouched", testing::_, 2)));
    EXPECT_EQ(format_blind_spots(model.blind_spots),
              "1 did not run, 1 ended by time-out, 2 touched no device");
    EXPECT_EQ(model.blind_spots[2].tests, model.totals.untouched);
    EXPECT_EQ(format_blind_spots({}), "");

    stored.info.simulated = "mps";
    stored.modules[0].attempts[0].record.device_events.clear();
    const samples::Model unused = samples::model(stored, folder.root() / "run2");
    EXPECT_THAT(unused.blind_spots,
                testing::Contains(FieldsAre("device_unused", testing::_, unused.totals.collected)));
}

}  // namespace
}  // namespace compat::reports
