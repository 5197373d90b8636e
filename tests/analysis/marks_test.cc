#include "runner/analysis/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"

namespace compat::analysis {
namespace {

using parsers::State;
using ::testing::ElementsAre;
using Names = std::vector<std::string_view>;

struct Host {
    std::string host;
    std::string simulated;
};

// One test for each kind of mark, with the shim's record.
parsers::ModuleRecord record_on(const Host& host) {
    parsers::ModuleRecord record;
    record.shim = parsers::ShimSession{.version = "1",
                                       .torch = "2.13.0",
                                       .host = host.host,
                                       .mode = "missing",
                                       .simulated = host.simulated,
                                       .masquerade = false};
    const auto test = [&](std::string id, State state) {
        parsers::CaseRecord c;
        c.id = std::move(id);
        c.state = state;
        record.cases.push_back(c);
    };
    const auto event = [&](std::string id, std::string kind, std::string to) {
        parsers::DeviceEvent e;
        e.test = std::move(id);
        e.kind = std::move(kind);
        e.from = "cuda:1";
        e.to = std::move(to);
        e.count = 1;
        record.device_events.push_back(e);
    };
    test("redirected", State::passed);
    event("redirected", "redirect", host.simulated.empty() ? host.host : host.simulated);
    test("falls_back", State::failed);
    event("falls_back", "fallback", "cpu");
    test("kernels", State::passed);
    record.kernels.push_back({"kernels", "cpu", 5});
    record.kernels.push_back({"kernels", "mps", 2});
    test("asks_only", State::passed);
    event("asks_only", "stub", "");
    test("untouched", State::passed);
    test("skipped", State::skipped);
    event("skipped", "redirect", "cpu");
    return record;
}

std::vector<Names> names_on(const Host& host) {
    std::vector<Names> out;
    for (const Marks& marks : marks_of(record_on(host))) out.push_back(marks.names());
    return out;
}

TEST(Marks, NeverIncludeDeviceOnACpuHost) {
    EXPECT_THAT(names_on({"cpu", ""}),
                ElementsAre(Names{"redirected"}, Names{"fallback"}, Names{"untouched"},
                            Names{"untouched"}, Names{"untouched"}, Names{}));
}

TEST(Marks, IncludeDeviceIfTheAcceleratorWasUsed) {
    const std::vector<Names> expected{
        {"device", "redirected"}, {"fallback"}, {"device"}, {"untouched"}, {"untouched"}, {}};
    EXPECT_EQ(names_on({"mps", ""}), expected);
    EXPECT_EQ(names_on({"cpu", "mps"}), expected);
}

TEST(Marks, SayInAnyStateThatATestHasARace) {
    parsers::ModuleRecord record = record_on({"cuda", "cuda"});
    for (const char* id : {"kernels", "skipped"}) {
        parsers::DeviceEvent race;
        race.test = id;
        race.kind = "race";
        record.device_events.push_back(race);
    }
    std::vector<Names> names;
    for (const Marks& marks : marks_of(record)) names.push_back(marks.names());
    EXPECT_EQ(names[2], Names{"race"});
    EXPECT_EQ(names.back(), Names{"race"});
}

TEST(Marks, AreEmptyWithoutTheShim) {
    parsers::ModuleRecord record = record_on({"cpu", ""});
    record.shim.reset();
    for (const Marks& marks : marks_of(record)) EXPECT_EQ(marks, Marks{});
}

TEST(Marks, AreReadFromTheShimsLines) {
    const std::string devices =
        R"({"event":"session","pid":7,"format":1,"shim":"0.1","torch":"2.13.0","host":"cpu","mode":"missing","simulated":null,"masquerade":true})"
        "\n"
        R"({"event":"device","pid":7,"test":"m.py::a","kind":"redirect","op":"aten::empty","from":"cuda:0","to":"cpu","file":"/s/m.py","line":3,"count":2})"
        "\n"
        R"({"event":"device","pid":7,"test":null,"kind":"redirect","op":"aten::empty","from":"cuda:0","to":"cpu","file":"/s/m.py","line":1,"count":1})"
        "\n"
        R"({"event":"test","pid":7,"test":"m.py::a","kernels":{"cpu":4}})"
        "\n"
        R"({"event":"device","pid":8,"test":"m.py::b","kind":"redirect","to":"cpu"})"
        "\n";
    const std::string events = R"({"event":"session","pid":7,"format":1,"framework":"pytest"})"
                               "\n"
                               R"({"event":"collected","pid":7,"id":"m.py::a"})"
                               "\n"
                               R"({"event":"collected","pid":7,"id":"m.py::b"})"
                               "\n"
                               R"({"event":"end","pid":7,"id":"m.py::a","state":"passed"})"
                               "\n"
                               R"({"event":"end","pid":7,"id":"m.py::b","state":"passed"})"
                               "\n"
                               R"({"event":"finish","pid":7,"collected":2})"
                               "\n";
    const parsers::ModuleRecord record = parsers::read_attempt(
        {events, "=== 2 passed in 0.1s ===\n", devices}, "pytest", "m.py", {});
    EXPECT_EQ(record.device_events.size(), 2u);
    EXPECT_EQ(record.device_events[0].location, (parsers::Location{"/s/m.py", 3}));
    EXPECT_EQ(record.device_events[0].count, 2);
    EXPECT_EQ(record.device_events[1].test, "");
    ASSERT_EQ(record.kernels.size(), 1u);
    EXPECT_EQ(record.kernels[0].count, 4);
    ASSERT_TRUE(record.shim);
    EXPECT_TRUE(record.shim->masquerade);
    EXPECT_EQ(record.shim->simulated, "");
    ASSERT_EQ(record.diagnostics.size(), 1u);
    EXPECT_THAT(record.diagnostics[0].message,
                ::testing::HasSubstr("1 line(s) of other processes"));
    const std::vector<Marks> marks = marks_of(record);
    EXPECT_EQ(marks[0].names(), Names{"redirected"});
    EXPECT_EQ(marks[1].names(), Names{"untouched"});
}

TEST(MarksOf, SayWhatTheHubGeneratedInAnyStateAndWithoutAShim) {
    parsers::ModuleRecord record = record_on({"cpu", ""});
    for (parsers::CaseRecord& c : record.cases) c.generated = {{"models/org/m"}, 1};
    const auto marks = marks_of(record);
    for (size_t i = 0; i < marks.size(); ++i) EXPECT_TRUE(marks[i].generated) << record.cases[i].id;
    EXPECT_TRUE(marks[4].untouched) << "a model says nothing about a device";
    record.shim.reset();
    EXPECT_THAT(marks_of(record)[0].names(), ElementsAre("generated"));
}

}  // namespace
}  // namespace compat::analysis
