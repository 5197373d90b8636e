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

store::JobResult passing_attempt(DiagnosticStep step, const std::string& id) {
    store::JobResult job;
    job.step = name_of(step);
    job.only = {id};
    job.record.cases.resize(1);
    job.record.cases[0].id = id;
    job.record.cases[0].state = State::passed;
    return job;
}

TEST(WaysOfRun, NameTheTestThatRanForAnother) {
    const analysis::Way mac{true, "cpu", "mps", "none", true, {}};
    const analysis::Way plain_cpu{false, "cpu", "", "", true, {}};
    const OtherRuns others{
        {{"other", plain_cpu}}, [](const std::string&, const std::string& test) {
            return test == "c" ? std::optional(OtherRuns::Verdict{State::errored, "signature"})
                               : std::nullopt;
        }};
    WaysOfRun ways(mac, true, others);
    ways.add(broken("a"), {passing_attempt(DiagnosticStep::float32, "a")});
    for (const auto* id : {"b", "c"}) ways.add(broken(id), {});
    EXPECT_EQ(ways.attribution(broken("a"))->as, "");
    const auto inferred = ways.attribution(broken("b"));
    EXPECT_EQ(inferred->cause, "dtype_limit");
    EXPECT_EQ(inferred->as, "a");
    const auto own = ways.attribution(broken("c"));
    EXPECT_EQ(own->run, "other");
    EXPECT_EQ(own->as, "") << "the test itself ran there";
}

}  // namespace
}  // namespace compat::reports
