#include "runner/analysis/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::Phase;
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

// The events of a module that ended in order; text() makes the log of the same module.
ModuleRecord events(std::vector<CaseRecord> cases) {
    ModuleRecord record;
    record.framework = "unittest";
    record.finished = true;
    record.cases = std::move(cases);
    return record;
}

ModuleRecord text(std::vector<CaseRecord> cases) {
    ModuleRecord record = events(std::move(cases));
    record.from_text = true;
    record.closing.emplace();
    return record;
}

std::vector<std::string> lines(const std::vector<Difference>& differences) {
    std::vector<std::string> all;
    for (const auto& d : differences)
        all.push_back(d.test + " " + std::string(d.before ? name_of(*d.before) : "absent") + " " +
                      std::string(d.after ? name_of(*d.after) : "absent") + " " +
                      std::string(d.reason ? name_of(*d.reason) : "-"));
    return all;
}

std::vector<std::string> of_text(const ModuleRecord& e, const ModuleRecord& t, bool cut = false) {
    return lines(differences_of_text(e, t, cut));
}

TEST(Agreement, EqualReadingsHaveNoDifference) {
    const auto record = events({case_named("x", State::passed), case_named("y", State::failed)});
    EXPECT_THAT(differences(record, record), IsEmpty());
    EXPECT_THAT(of_text(record, text(record.cases)), IsEmpty());
}

TEST(Agreement, ListsChangedMissingAndAddedTests) {
    const auto before = events({case_named("x", State::passed), case_named("y", State::failed)});
    const auto after = events({case_named("x", State::failed), case_named("z", State::passed)});
    EXPECT_THAT(lines(differences(before, after)),
                ElementsAre("a.py::A::x passed failed -", "a.py::A::y failed absent -",
                            "a.py::A::z absent passed -"));
    EXPECT_EQ(of_text(before, text(after.cases)), lines(differences(before, after)))
        << "no limit of the text explains them";
}

TEST(Agreement, TheTextNamesOnlyTheBrokenFixture) {
    CaseRecord under = case_named("x", State::errored),
               fixture = case_named("<setUpClass>", State::errored);
    under.started = false;
    under.phase = fixture.phase = Phase::class_setup;
    fixture.pseudo = true;
    EXPECT_THAT(of_text(events({under}), text({fixture})),
                ElementsAre("a.py::A::x errored absent under_fixture",
                            "a.py::A::<setUpClass> absent errored under_fixture"));
}

TEST(Agreement, TheTextLacksTestsThatNeverStarted) {
    EXPECT_THAT(of_text(events({case_named("x", State::not_run)}), text({})),
                ElementsAre("a.py::A::x not_run absent never_named"));
}

TEST(Agreement, UnnamedTestsMustMatchTheMissingOnes) {
    const auto record = events({case_named("x", State::passed), case_named("y", State::passed)});
    CaseRecord first = case_named("<unnamed 1>", State::passed),
               second = case_named("<unnamed 2>", State::passed);
    first.id = "a.py::<unnamed 1>";
    second.id = "a.py::<unnamed 2>";
    EXPECT_THAT(
        of_text(record, text({first, second})),
        ElementsAre("a.py::A::x passed absent not_verbose", "a.py::A::y passed absent not_verbose",
                    "a.py::<unnamed 1> absent passed not_verbose",
                    "a.py::<unnamed 2> absent passed not_verbose"));
    second.state = State::failed;
    EXPECT_THAT(
        of_text(record, text({first, second})),
        ElementsAre("a.py::A::x passed absent -", "a.py::A::y passed absent -",
                    "a.py::<unnamed 1> absent passed -", "a.py::<unnamed 2> absent failed -"));
}

TEST(Agreement, TheClosingMustCountTheMissingTests) {
    auto record = events({case_named("x", State::passed), case_named("y", State::passed)});
    record.framework = "pytest";
    auto quiet = text({});
    quiet.closing->counts = {{"passed", 2}};
    EXPECT_THAT(of_text(record, quiet), ElementsAre("a.py::A::x passed absent not_verbose",
                                                    "a.py::A::y passed absent not_verbose"));
    quiet.closing->counts = {{"passed", 1}};
    EXPECT_THAT(of_text(record, quiet),
                ElementsAre("a.py::A::x passed absent -", "a.py::A::y passed absent -"));
}

TEST(Agreement, ADeathExplainsItsOwnTestsAndUnwrittenOnes) {
    auto died = events({case_named("x", State::passed), case_named("y", State::crashed)});
    died.finished = false;
    died.outcome = ModuleOutcome::crashed;
    auto cut_off = text({});
    cut_off.closing.reset();
    EXPECT_THAT(of_text(died, cut_off), ElementsAre("a.py::A::x passed absent process_died",
                                                    "a.py::A::y crashed absent process_died"));
    // It died after the closing line was written: only the death itself may differ.
    EXPECT_THAT(
        of_text(died, text({case_named("x", State::failed), case_named("y", State::passed)})),
        ElementsAre("a.py::A::x passed failed -", "a.py::A::y crashed passed process_died"));
}

TEST(Agreement, LostOutputExplainsMissingTests) {
    const auto record = events({case_named("x", State::passed)});
    auto closed = text({});
    closed.closing.reset();
    EXPECT_THAT(of_text(record, closed), ElementsAre("a.py::A::x passed absent output_is_lost"));
    EXPECT_THAT(of_text(record, text({})), ElementsAre("a.py::A::x passed absent -"));
    EXPECT_THAT(of_text(record, text({}), true),
                ElementsAre("a.py::A::x passed absent output_is_lost"));
}

TEST(Agreement, SomeNamesCannotBeParsedFromALine) {
    for (const char* name : {"a b", "a\nb", "a(b)", "\xEF\xBF\xBD"})
        EXPECT_THAT(
            differences_of_text(events({case_named(name, State::passed)}), text({}), false)[0]
                .reason,
            testing::Optional(TextLimit::ambiguous_name))
            << name;
    auto pytest = events({case_named("a b", State::passed)});
    pytest.framework = "pytest";
    EXPECT_THAT(of_text(pytest, text({})), ElementsAre("a.py::A::a b passed absent -"));
}

}  // namespace
}  // namespace compat::analysis
