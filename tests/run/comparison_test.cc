// Which runs are compared, and how tests of two runs find each other: in one database, in two, and
// where their ids name the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runner/compare/baseline.h"
#include "tests/support/temp_tree.h"

namespace compat::compare {
namespace {

using parsers::State;
using reports::ChangeClass;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using NamedStates = std::vector<std::pair<std::string, State>>;
using ClassesById = std::map<std::string, ChangeClass>;

store::RunInfo info_of(const std::string& id, int second) {
    store::RunInfo info;
    info.id = id;
    info.suite = info.series = "s";
    info.framework = "pytest";
    info.device = "cpu";
    info.shim = false;
    info.started = WallTime(Milliseconds(second * 1000));
    info.folder = "runs/" + id;
    info.argv = {"runner", "s"};
    info.fingerprint = R"({"os": "Debian"})";
    return info;
}

class CompareStored : public testing::Test {
  protected:
    store::Store store = std::move(*store::Store::temporary());
    store::Store other = std::move(*store::Store::temporary());
    test::TempTree tree;

    static void add(store::Store& to, const store::RunInfo& info, const NamedStates& tests,
                    bool complete = true) {
        store::JobResult job;
        job.record.path = "a.py";
        job.record.ready = true;
        for (const auto& [name, state] : tests) {
            auto& test = job.record.cases.emplace_back();
            test.id = test.name = (name.starts_with(':') ? "a.py:" : "a.py::") + name;
            test.state = state;
        }
        ASSERT_TRUE(to.begin_run(info));
        ASSERT_TRUE(to.save_job(info.id, job));
        store::RunEnd end;
        end.complete = complete;
        ASSERT_TRUE(to.finish_run(info.id, end));
    }
    Expected<reports::CompareView> compared(const CompareRequest& request, bool by_other = false) {
        return compare({store, tree.root()}, {by_other ? other : store, tree.root()}, request);
    }
    static ClassesById classes_of(const reports::Comparison& column) {
        ClassesById classes;
        for (const auto& test : column.tests) classes[test.id] = test.change;
        return classes;
    }
};

TEST_F(CompareStored, TheBaselineIsTheLatestCompleteRunThatIsNoRepeat) {
    add(store, info_of("one", 1), {{"t", State::passed}});
    add(store, info_of("two", 2), {{"t", State::passed}});
    add(store, info_of("cut", 3), {}, /*complete=*/false);
    add(store, info_of("three", 4), {{"t", State::passed}});
    auto repeat = info_of("three-again", 5);
    repeat.repeat_of = "three";
    add(store, repeat, {{"t", State::failed}});
    const auto view = compared({});
    ASSERT_TRUE(view) << to_line(view.error());
    EXPECT_EQ(view->baseline.id, "two");
    EXPECT_EQ(view->columns.at(0).run.id, "three-again");
    EXPECT_THAT(view->chosen, HasSubstr("latest complete"));
    EXPECT_THAT(classes_of(view->columns[0]), ElementsAre(std::pair("a.py::t", ChangeClass::flaky)))
        << "the run's own repeat shows that it is noise";
    EXPECT_EQ(compared({{"two"}, compare::Chosen::by_past, {}})->baseline.id, "one");
    const auto none = compared({{"one"}, compare::Chosen::by_past, {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::usage);
}

TEST_F(CompareStored, WhatARunWasNotAskedForIsNotGone) {
    const auto part = [](const char* id, int second, const Subset& subset) {
        store::RunInfo info = info_of(id, second);
        info.subset = subset;
        return info;
    };
    add(store, info_of("whole", 1), {{"t", State::passed}, {"u", State::failed}});
    add(store, part("part", 2, {"a.py::t"}), {{"t", State::failed}});
    const auto view = compared({});
    EXPECT_EQ(view->baseline.id, "whole");
    EXPECT_EQ(classes_of(view->columns[0]), (ClassesById{{"a.py::t", ChangeClass::regressed}}));
    EXPECT_EQ(view->columns[0].not_asked_for, 1);
    EXPECT_THAT(view->columns[0].drops, IsEmpty());
    EXPECT_THAT(compare_text(*view, 5), HasSubstr("1 test of one run left out: the other ran "
                                                  "another part of the suite"));
    const auto named = compared({{"part", "whole"}, compare::Chosen::by_past, {}});
    EXPECT_EQ(classes_of(named->columns[0]), (ClassesById{{"a.py::t", ChangeClass::fixed}}));

    add(store, part("again", 3, {"a.py::t"}), {});
    const auto again = compared({});
    EXPECT_EQ(again->baseline.id, "part");
    EXPECT_EQ(classes_of(again->columns[0]), (ClassesById{{"a.py::t", ChangeClass::gone}}))
        << "it was asked for";
    // A run of the whole module, which has one test left.
    add(store, part("module", 4, {"a.py"}), {{"u", State::failed}});
    const auto module = compared({{"whole", "module"}, compare::Chosen::by_past, {}});
    EXPECT_EQ(classes_of(module->columns[0]), (ClassesById{{"a.py::t", ChangeClass::gone}}));
    EXPECT_EQ(module->columns[0].not_asked_for, 0);
    add(store, part("other", 5, {"a.py::x"}), {{"x", State::passed}});
    const auto disjoint = compared({{"part", "other"}, compare::Chosen::by_past, {}});
    EXPECT_THAT(compare_text(*disjoint, 5), HasSubstr("\nno test in both runs\n"));
}

TEST_F(CompareStored, AModuleThatCanBeLoadedAgainIsFixed) {
    add(store, info_of("broken", 1), {{":<module>", State::errored}});
    add(store, info_of("mended", 2), {{"t", State::passed}});
    EXPECT_EQ(classes_of(compared({})->columns[0]),
              (ClassesById{{"a.py::<module>", ChangeClass::fixed},
                           {"a.py::t", ChangeClass::new_passing}}));
}

TEST_F(CompareStored, AModuleThatIsNoLongerSkippedIsNotFixed) {
    add(store, info_of("without", 3), {{":<module>", State::skipped}});
    add(store, info_of("with", 4), {{"t", State::passed}});
    EXPECT_EQ(classes_of(compared({})->columns[0])["a.py::<module>"], ChangeClass::gone);
}

TEST_F(CompareStored, RepeatsAloneAreComparedWithEachOther) {
    add(store, info_of("one", 1), {{"t", State::passed}});
    auto repeat = info_of("one-again", 2);
    repeat.repeat_of = "one";
    add(store, repeat, {{"t", State::passed}});
    EXPECT_EQ(compared({})->baseline.id, "one");
}

TEST_F(CompareStored, NoiseOfEarlierRepeatsCountsToo) {
    add(store, info_of("a", 1), {{"noisy", State::passed}, {"t", State::passed}});
    auto repeat = info_of("a-again", 2);
    repeat.repeat_of = "a";
    add(store, repeat, {{"noisy", State::failed}, {"t", State::passed}});
    add(store, info_of("b", 3), {{"noisy", State::passed}, {"t", State::passed}});
    add(store, info_of("c", 4), {{"noisy", State::failed}, {"t", State::failed}});
    const auto view = compared({});
    EXPECT_EQ(view->baseline.id, "b");
    EXPECT_EQ(classes_of(view->columns[0]), (ClassesById{{"a.py::noisy", ChangeClass::flaky},
                                                         {"a.py::t", ChangeClass::regressed}}));
    EXPECT_EQ(view->columns[0].noise_runs, 2);
}

TEST_F(CompareStored, IdsThatNameTheDeviceAreOneTest) {
    add(store, info_of("cpu", 1),
        {{"t[cpu-1]", State::passed},
         {"plain", State::passed},
         {"one[cpu]", State::passed},
         {"one[cpu:0]", State::passed},
         {"cpu_only[cpu]", State::passed}});
    auto mps = info_of("mps", 2);
    mps.shim = true;
    mps.simulated = "mps";
    add(store, mps,
        {{"t[mps-1]", State::failed},
         {"t[cpu-1]", State::passed},
         {"plain", State::passed},
         {"one[mps]", State::passed}});
    const auto view = compared({{}, compare::Chosen::by_device, {ChangeClass::regressed}});
    ASSERT_TRUE(view) << to_line(view.error());
    EXPECT_EQ(view->baseline.id, "cpu") << "plain CPU, though it is not the newest";
    const auto& column = view->columns.at(0);
    EXPECT_EQ(classes_of(column), (ClassesById{{"a.py::t[mps-1]", ChangeClass::regressed},
                                               {"a.py::t[cpu-1]", ChangeClass::new_passing},
                                               {"a.py::one[cpu:0]", ChangeClass::gone},
                                               {"a.py::cpu_only[cpu]", ChangeClass::gone}}));
    EXPECT_EQ(column.count(ChangeClass::unchanged), 2);
    EXPECT_EQ(column.duplicates, 0);
    const auto at = std::find_if(column.tests.begin(), column.tests.end(),
                                 [](const auto& t) { return t.id == "a.py::t[mps-1]"; });
    EXPECT_EQ(at->baseline_id, "a.py::t[cpu-1]");
    EXPECT_TRUE(view->fails());
}

TEST_F(CompareStored, TestsOfTwoDatabasesMeetByTheirIds) {
    // Rows have other numbers in the other database.
    add(other, info_of("old", 1),
        {{"z", State::passed}, {"y", State::passed}, {"x", State::failed}, {"w", State::passed}});
    add(store, info_of("new", 2),
        {{"x", State::passed}, {"y", State::failed}, {"z", State::passed}, {"v", State::passed}});
    const ClassesById expected{{"a.py::x", ChangeClass::fixed},
                               {"a.py::y", ChangeClass::regressed},
                               {"a.py::w", ChangeClass::gone},
                               {"a.py::v", ChangeClass::new_passing}};
    for (const auto& runs : {std::vector<std::string>{}, std::vector<std::string>{"old", "new"}}) {
        const auto view = compared({runs, compare::Chosen::by_past, {}}, /*by_other=*/true);
        ASSERT_TRUE(view) << to_line(view.error());
        EXPECT_EQ(classes_of(view->columns.at(0)), expected);
        EXPECT_EQ(view->columns[0].count(ChangeClass::unchanged), 1);
    }
}

TEST_F(CompareStored, EveryTestHasOneClass) {
    NamedStates before, after;
    int n = 0;
    for (std::size_t a = 0; a <= parsers::kStateNames.size(); ++a)
        for (std::size_t b = 0; b <= parsers::kStateNames.size(); ++b) {
            const std::string name = "t" + std::to_string(n++);
            if (a < parsers::kStateNames.size()) before.emplace_back(name, static_cast<State>(a));
            if (b < parsers::kStateNames.size()) after.emplace_back(name, static_cast<State>(b));
        }
    add(store, info_of("one", 1), before);
    add(store, info_of("two", 2), after);
    const auto view = compared({});
    const auto& column = view->columns.at(0);
    std::int64_t sum = 0;
    for (const std::int64_t count : column.counts) sum += count;
    EXPECT_EQ(sum, n - 1) << "all but the one that neither run has";
    EXPECT_EQ(
        static_cast<std::int64_t>(column.tests.size()),
        sum - column.count(ChangeClass::unchanged) - column.count(ChangeClass::still_failing_same));
}

// A module that exceeds its time limit before its end, and one that never started.
TEST_F(CompareStored, TestsThatARunDidNotGetToAreSpurious) {
    add(store, info_of("one", 1), {{"t", State::passed}, {"u", State::passed}});
    const auto begin = [&](const std::string& id, int second) {
        ASSERT_TRUE(store.begin_run(info_of(id, second)));
        ASSERT_TRUE(store.plan_modules(id, {"a.py"}));
    };
    begin("two", 2);
    store::JobResult job;
    job.record.path = "a.py";
    job.record.ready = true;
    job.record.outcome = parsers::ModuleOutcome::timed_out;
    for (const auto& [name, state] :
         NamedStates{{"a.py::t", State::passed}, {"a.py::u", State::not_run}}) {
        auto& test = job.record.cases.emplace_back();
        test.id = test.name = name;
        test.state = state;
    }
    ASSERT_TRUE(store.save_job("two", job));
    begin("three", 3);
    const auto two = compared({{"one", "two"}, compare::Chosen::by_past, {}});
    ASSERT_TRUE(two) << to_line(two.error());
    EXPECT_EQ(classes_of(two->columns.at(0)), (ClassesById{{"a.py::u", ChangeClass::spurious}}));
    EXPECT_EQ(two->columns[0].tests[0].why, "its module did not get to it in one of the runs");
    const auto three = compared({{"one", "three"}, compare::Chosen::by_past, {}});
    EXPECT_EQ(classes_of(three->columns.at(0)), (ClassesById{{"a.py::t", ChangeClass::spurious},
                                                             {"a.py::u", ChangeClass::spurious}}));
    EXPECT_EQ(three->columns[0].tests[0].why, "its module ended as not_run");
}

TEST_F(CompareStored, FewerTestsThanThePastExplainsAreReported) {
    const auto tests = [](int n) {
        NamedStates all;
        for (int i = 0; i < n; ++i) all.emplace_back("t" + std::to_string(i), State::passed);
        return all;
    };
    add(store, info_of("1", 1), tests(8));
    add(store, info_of("2", 2), tests(10));
    add(store, info_of("3", 3), tests(8));
    EXPECT_THAT(compared({})->columns[0].drops, IsEmpty()) << "the past differs by 2";
    add(store, info_of("4", 4), tests(5));
    EXPECT_THAT(compared({})->columns[0].drops, ElementsAre(analysis::CountDrop{"test", 8, 5, 2}));
    auto part = info_of("5", 5);
    part.argv = {"runner", "s", "a.py"};
    add(store, part, tests(4));
    EXPECT_THAT(compared({})->columns[0].drops, ElementsAre(analysis::CountDrop{"test", 5, 4, 0}))
        << "runs of another command line say nothing of its spread";
}

TEST_F(CompareStored, AChangedEnvironmentIsNamed) {
    add(store, info_of("one", 1), {});
    auto two = info_of("two", 2);
    two.fingerprint = R"({"os": "Fedora"})";
    two.argv = {"runner", "s", "-k", "x"};
    add(store, two, {});
    EXPECT_THAT(compared({})->columns[0].environment,
                ElementsAre(analysis::EnvironmentChange{"os", "Debian", "Fedora"},
                            analysis::EnvironmentChange{"command", "s", "s -k x"}));
    auto imported = info_of("three", 3);
    imported.fingerprint = "{}";
    add(store, imported, {});
    EXPECT_FALSE(compared({})->columns[0].environment_known);
}

TEST_F(CompareStored, OneDeviceAloneIsAnError) {
    add(store, info_of("one", 1), {});
    const auto view = compared({{}, compare::Chosen::by_device, {}});
    ASSERT_FALSE(view);
    EXPECT_THAT(to_line(view.error()), HasSubstr("one run alone"));
}

}  // namespace
}  // namespace compat::compare
