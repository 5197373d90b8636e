#include "reports/ways.h"

#include <gtest/gtest.h>

#include <map>

#include "runner/store/store.h"

namespace compat::reports {
namespace {

using parsers::State;

parsers::CaseRecord broken(const std::string& id) {
    parsers::CaseRecord test;
    test.id = id;
    test.state = State::errored;
    test.failure.emplace();
    test.failure->signature = "signature";
    test.failure->diagnosis = parsers::Diagnosis{parsers::Cause::suite_error, {}, {}, {}, {}};
    return test;
}

TEST(WaysOfRun, TakesTheNewestRunOfEachWayThatHasTheTest) {
    const analysis::Way mac{true, "cpu", "mps", "none", true, {}};
    const analysis::Way plain_cpu{false, "cpu", "", "", true, {}};
    const std::map<std::pair<std::string, std::string>, OtherRuns::Verdict> stored{
        {{"part", "b"}, {State::errored, "signature"}},
        {{"whole", "a"}, {State::errored, "signature"}},
        {{"whole", "b"}, {State::passed, ""}},
        {{"old", "a"}, {State::passed, ""}}};
    const OtherRuns others{{{"part", plain_cpu}, {"whole", plain_cpu}, {"old", plain_cpu}},
                           [&](const std::string& run, const std::string& test) {
                               const auto at = stored.find({run, test});
                               return at == stored.end() ? std::nullopt : std::optional(at->second);
                           }};
    const WaysOfRun ways(mac, false, others);
    const auto a = ways.attribution(broken("a"));
    ASSERT_TRUE(a);
    EXPECT_EQ(a->cause, "upstream");
    EXPECT_EQ(a->run, "whole") << "the later run is of a part of the suite";
    EXPECT_EQ(ways.attribution(broken("b"))->run, "part");
    EXPECT_FALSE(ways.attribution(broken("c"))) << "no run has it";
    EXPECT_FALSE(ways.diagnosis(broken("a"), {})) << "nobody asked for it";
}

}  // namespace
}  // namespace compat::reports
