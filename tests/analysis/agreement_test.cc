#include "runner/analysis/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;

CaseRecord case_named(const std::string& name, State state) {
    CaseRecord c;
    c.id = "a.py::A::" + name;
    c.name = "a.A." + name;
    c.state = state;
    c.started = true;
    return c;
}

ModuleRecord record_of(std::vector<CaseRecord> cases) {
    ModuleRecord record;
    record.cases = std::move(cases);
    return record;
}

std::vector<std::string> lines(const std::vector<Difference>& differences) {
    std::vector<std::string> all;
    for (const auto& d : differences)
        all.push_back(d.test + " " + std::string(d.before ? name_of(*d.before) : "absent") + " " +
                      std::string(d.after ? name_of(*d.after) : "absent"));
    return all;
}

TEST(Agreement, ARowOfOtherTestsDiffers) {
    auto before = record_of({case_named("x", State::passed)});
    auto after = before;
    before.cases[0].tests = 118;
    after.cases[0].tests = 117;
    EXPECT_THAT(lines(differences(before, after)),
                ElementsAre("a.py::A::x (118) passed absent", "a.py::A::x (117) absent passed"));
}

TEST(Agreement, EqualReadingsHaveNoDifference) {
    const auto record = record_of({case_named("x", State::passed), case_named("y", State::failed)});
    EXPECT_THAT(differences(record, record), IsEmpty());
}

TEST(Agreement, ListsChangedMissingAndAddedTests) {
    const auto before = record_of({case_named("x", State::passed), case_named("y", State::failed)});
    const auto after = record_of({case_named("x", State::failed), case_named("z", State::passed)});
    EXPECT_THAT(lines(differences(before, after)),
                ElementsAre("a.py::A::x passed failed", "a.py::A::y failed absent",
                            "a.py::A::z absent passed"));
}

}  // namespace
}  // namespace compat::analysis
