#include "parsers/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::parsers::devices_test {
namespace {

constexpr std::string_view kSession =
    R"({"event":"session","format":1,"shim":"0.1.0","torch":"2.13.0","host":"cpu","mode":"missing","simulated":null,"masquerade":false,"pid":7})"
    "\n";
constexpr std::string_view kWatch = R"({"event":"watch","format":1,"pid":7})"
                                    "\n";

std::string device(int pid, std::string_view op) {
    return R"({"event":"device","test":"a::B::c","kind":"redirect","op":")" + std::string(op) +
           R"(","from":"cuda:0","to":"cpu","file":"/x/a.py","line":3,"count":5,"pid":)" +
           std::to_string(pid) + "}\n";
}

std::vector<std::string> ops(const DevicesResult& result) {
    std::vector<std::string> found;
    for (const auto& event : result.events) found.push_back(event.op);
    return found;
}

TEST(Devices, AnEventWhole) {
    const auto result = parse_devices(std::string(kSession) + device(7, "aten::ones"));
    ASSERT_EQ(result.events.size(), 1u);
    const DeviceEvent expected{"a::B::c",      "redirect", "aten::ones", "cuda:0", "cpu",
                               {"/x/a.py", 3}, 5};
    EXPECT_EQ(result.events[0], expected);
    const ShimSession session{"0.1.0", "2.13.0", "cpu", "missing", "", false};
    EXPECT_EQ(result.shim, session);
    EXPECT_TRUE(result.diagnostics.empty());
}

TEST(Devices, NobodyWatchedIsNotTheSameAsNothingSeen) {
    EXPECT_FALSE(parse_devices("").shim);
    const auto watched = parse_devices(kWatch);
    ASSERT_TRUE(watched.shim);
    EXPECT_EQ(watched.shim->version, "");
    EXPECT_TRUE(watched.diagnostics.empty());
    EXPECT_EQ(parse_devices(std::string(kWatch) + std::string(kSession)).shim->version, "0.1.0");
    // A child of a process that has its session does not take it away again.
    EXPECT_EQ(parse_devices(std::string(kSession) + R"({"event":"watch","format":1,"pid":9})")
                  .shim->version,
              "0.1.0");
}

TEST(Devices, AVisitorGetsTheEventsAndTheResultKeepsNone) {
    const std::string text = std::string(kSession) + device(7, "aten::ones");
    std::vector<std::string> visited;
    const auto result =
        parse_devices(text, [&](const DeviceEvent& event) { visited.push_back(event.op); });
    EXPECT_THAT(visited, ::testing::ElementsAre("aten::ones"));
    EXPECT_TRUE(result.events.empty());
    EXPECT_TRUE(result.shim);
}

TEST(Devices, LinesOfAProcessThatSaidItsSessionCountAndOthersAreDropped) {
    const std::string second = R"({"event":"session","format":1,"shim":"other","pid":8})";
    const auto result =
        parse_devices(std::string(kSession) + second + "\n" + device(8, "aten::zeros") +
                      device(9, "aten::full") + device(7, "aten::ones"));
    EXPECT_THAT(ops(result), ::testing::ElementsAre("aten::zeros", "aten::ones"));
    EXPECT_EQ(result.shim->version, "0.1.0");
    ASSERT_EQ(result.diagnostics.size(), 1u);
    EXPECT_THAT(result.diagnostics[0].message,
                ::testing::HasSubstr("1 line(s) of other processes"));
}

TEST(Devices, ProcessesAreCountedByWhatTheyOpenedWith) {
    const auto opened = [](const char* event, int pid) {
        return R"({"event":")" + std::string(event) + R"(","format":1,"shim":"0.1.0","pid":)" +
               std::to_string(pid) + "}\n";
    };
    // 7 imports torch, 8 is forked from it, 9 never imports it, 10 never said who it is.
    const auto result =
        parse_devices(opened("watch", 7) + opened("session", 7) + opened("session", 8) +
                      opened("session", 8) + opened("watch", 9) + device(10, "aten::ones"));
    EXPECT_EQ(result.watched, 3u);
    EXPECT_EQ(result.with_torch, 2u);
    EXPECT_EQ(parse_devices("").watched, 0u);
}

TEST(Devices, BrokenLinesAreSaidWithTheirPlaceAndTheRestIsRead) {
    const std::string text = std::string(kSession) + "{\"event\":\"dev\n" + device(7, "aten::ones");
    const auto result = parse_devices(text);
    EXPECT_THAT(ops(result), ::testing::ElementsAre("aten::ones"));
    ASSERT_EQ(result.diagnostics.size(), 1u);
    EXPECT_EQ(result.diagnostics[0].offset, static_cast<std::int64_t>(kSession.size()));
}

TEST(Devices, ANewerFormatIsRefused) {
    const auto result = parse_devices(R"({"event":"session","format":2,"pid":7})"
                                      "\n" +
                                      device(7, "aten::ones"));
    EXPECT_TRUE(result.events.empty());
    ASSERT_EQ(result.diagnostics.size(), 1u);
    EXPECT_THAT(result.diagnostics[0].message, ::testing::HasSubstr("format 2 is newer"));
}

std::string collective(int pid, std::string_view op, std::string_view figures) {
    return R"({"event":"device","test":null,"kind":"collective","op":")" + std::string(op) +
           R"(","from":null,"to":null,"group":"0","file":"/x/train.py","line":9,)" +
           std::string(figures) + R"(,"pid":)" + std::to_string(pid) + "}\n";
}

std::string steps(int pid, int count) {
    return R"({"event":"device","test":null,"kind":"optimizer_step","op":"torch.optim.Optimizer.step",)"
           R"("from":null,"to":null,"ranks":2,"file":"/x/train.py","line":10,"count":)" +
           std::to_string(count) + R"(,"pid":)" + std::to_string(pid) + "}\n";
}

TEST(Devices, CollectivesAndStepsAreNoEventsAndAddUpOverProcesses) {
    const std::string second = R"({"event":"session","format":1,"shim":"0.1.0","pid":8})"
                               "\n";
    const auto result = parse_devices(
        std::string(kSession) + second +
        collective(7, "all_reduce", R"("ranks":2,"bytes":100,"count":3)") +
        collective(8, "all_reduce", R"("ranks":2,"bytes":140,"count":4)") +
        collective(8, "barrier", R"("ranks":2,"bytes":0,"count":1)") + steps(7, 5) + steps(8, 6));
    const std::vector<CollectiveCalls> calls{{"", "all_reduce", "0", 2, {"/x/train.py", 9}, 7, 240},
                                             {"", "barrier", "0", 2, {"/x/train.py", 9}, 1, 0}};
    EXPECT_EQ(result.collectives, calls);
    EXPECT_EQ(result.optimizer_steps, (std::vector<OptimizerSteps>{{"", 2, 11}}));
    EXPECT_TRUE(result.events.empty());
}

TEST(Devices, FiguresOfCollectivesThatCannotBeDoNotOverflow) {
    const std::string line =
        collective(7, "send", R"("ranks":-2,"bytes":9223372036854775807,"count":-4)");
    const auto result = parse_devices(std::string(kSession) + line + line);
    ASSERT_EQ(result.collectives.size(), 1u);
    EXPECT_EQ(result.collectives[0].ranks, 0);
    EXPECT_EQ(result.collectives[0].count, 0);
    EXPECT_EQ(result.collectives[0].bytes, kMostCounted);
}

TEST(Devices, KernelsAreCountedByTestAndDevice) {
    const auto result =
        parse_devices(std::string(kSession) +
                      R"({"event":"test","test":"a::B::c","kernels":{"cpu":3,"mps":4},"pid":7})");
    ASSERT_EQ(result.kernels.size(), 2u);
    EXPECT_EQ(result.kernels[1].device, "mps");
    EXPECT_EQ(result.kernels[1].count, 4);
}

}  // namespace
}  // namespace compat::parsers::devices_test
