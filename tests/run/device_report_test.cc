// Tests how `runner devices` reads the probes' output, and reports their answers.
#include "runner/run/devices/device_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace compat::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTpu =
    R"({"format": 1, "version": "1", "failed": [], "devices": [{"device": "tpu:0", "type": "tpu",
 "name": "v5", "memory_total": 16, "memory_free": null, "capability": null,
 "dtypes": {"fp32": {"works": true, "why": null}}, "metadata": {"cores": 2}}]})";

std::string gpu(std::string_view name) {
    return R"({"format": 1, "devices": [{"device": "cuda:0", "type": "cuda", "name": ")" +
           std::string(name) + R"(", "dtypes": {"fp32": {"works": true, "why": null}}}]})";
}

ProbeAnswer answer(Probe probe, const char* name, std::string_view output) {
    ProbeAnswer made{probe, name, {}, {}, 0.5};
    auto found = parse_answer(probe, output);
    if (found)
        made.found = *found;
    else
        made.why = found.error().message;
    return made;
}

config::Settings settings(const config::Flags& flags = {}) {
    return config::Settings::resolve({flags, {}, {}, {}}, nullptr).value();
}

HostFacts host() {
    HostFacts facts = host_facts(std::nullopt, "");
    facts.tpu_name.clear();
    facts.torch_version = "2.13.0";
    return facts;
}

std::vector<std::string> names(const display::DeviceReport& report) {
    std::vector<std::string> all;
    for (const auto& each : report.devices)
        all.push_back(each.capabilities.device + " by " + each.found_by);
    return all;
}

TEST(ProbeAnswer, ReadsNvidiaSmi) {
    const auto found = parse_answer(
        Probe::nvidia_smi, "0, NVIDIA H100, 80 GB, 100, 50, 9.0\n1, K80, 7, [N/A], [N/A]\n");
    ASSERT_TRUE(found);
    ASSERT_EQ(found->devices.size(), 2u);
    EXPECT_EQ(found->devices[0].device.name, "NVIDIA H100, 80 GB");
    EXPECT_EQ(found->devices[0].device.memory_free, 50 << 20);
    EXPECT_EQ(found->devices[1].device.memory_free, std::nullopt);
    EXPECT_EQ(found->devices[1].device.capability, "");
    EXPECT_TRUE(parse_answer(Probe::nvidia_smi, "")->devices.empty());
    const auto huge =
        parse_answer(Probe::nvidia_smi, "0, X, 99999999999999999999999, 9223372036854775807, 9.0");
    ASSERT_TRUE(huge);
    EXPECT_EQ(huge->devices[0].device.memory_total, std::nullopt);
    EXPECT_EQ(huge->devices[0].device.memory_free, std::nullopt);
}

// Frameworks print around the answer, and anything may come in its place.
TEST(ProbeAnswer, FindsTheJsonAmongOtherWords) {
    const std::string line(R"({"format": 1, "devices": []})");
    for (const std::string& output :
         {line, "loading\n" + line + "\n", "{x}\n" + line + "\nbye\n", line + "\n"})
        EXPECT_TRUE(parse_answer(Probe::jax, output)) << output;
    const auto words = [](std::string_view output) {
        const auto found = parse_answer(Probe::jax, output);
        return found ? "" : found.error().message;
    };
    EXPECT_EQ(words(""), "it printed nothing");
    EXPECT_EQ(words("no\n"), "it printed no list of devices: no");
    for (const char* output :
         {"{}", "{\"format\": 2, \"devices\": []}", "{\"format\": 1}", "{",
          "{\"format\": 1, \"devices\": 3}", "[]", "{\"format\": \"1\", \"devices\": []}"})
        EXPECT_THAT(words(output), HasSubstr("it printed no list of devices")) << output;
    EXPECT_EQ(words(R"({"format": 1, "devices": [3]})"), "it printed a device without a name");
    EXPECT_EQ(words(R"({"format": 1, "devices": [{"device": 3}]})"),
              "it printed a device without a name");
}

// A value of another type is as one that is not there.
TEST(ProbeAnswer, TakesNoValueOfAnotherType) {
    const auto line = parse_answer(
        Probe::jax, R"({"format": 1, "failed": [3], "devices": [{"device": "tpu:0", "type": 7, )"
                    R"("memory_total": "16", "dtypes": {"fp32": {"works": null}, "fp16": 1}}]})");
    ASSERT_TRUE(line);
    const auto& device = line->devices[0].device;
    EXPECT_EQ(device.type, "");
    EXPECT_EQ(device.memory_total, std::nullopt);
    ASSERT_EQ(device.dtypes.size(), 1u);
    EXPECT_FALSE(device.dtypes[0].works);
}

TEST(DeviceReport, TakesEachKindFromTheFirstSourceThatHasOne) {
    const std::vector<ProbeAnswer> answers{
        answer(Probe::tensorflow, "TensorFlow", gpu("A")),
        answer(Probe::nvidia_smi, "nvidia-smi", "0, B, 1, 1, 9.0"),
        answer(Probe::jax, "JAX", kTpu)};
    EXPECT_THAT(names(*report_of(answers, host(), settings())),
                ElementsAre("cuda:0 by TensorFlow", "tpu:0 by JAX", "cpu by the operating system"));
    auto cloud = host();
    cloud.tpu_name = "node";
    EXPECT_THAT(names(*report_of({}, cloud, settings())),
                ElementsAre("tpu:0 by TPU_NAME", "cpu by the operating system"));
    EXPECT_THAT(names(*report_of({answers[2]}, cloud, settings())),
                ElementsAre("tpu:0 by JAX", "cpu by the operating system"));
}

TEST(DeviceReport, ChoosesAsTheDeviceLibraryDoes) {
    using config::Setting;
    const std::vector<ProbeAnswer> answers{answer(Probe::pytorch, "PyTorch", gpu("A")),
                                           answer(Probe::jax, "JAX", kTpu)};
    const auto current = [&](const config::Flags& flags) {
        return report_of(answers, host(), settings(flags))->current;
    };
    EXPECT_EQ(current({}), "tpu:0");
    EXPECT_EQ(current({{Setting::allow_tpu, "off"}}), "cuda:0");
    EXPECT_EQ(current({{Setting::prefer, "gpu"}}), "cuda:0");
    EXPECT_EQ(current({{Setting::device, "cpu"}}), "cpu");
    const auto missing =
        report_of(answers, host(), settings({{Setting::device, "mps"}})).value();
    EXPECT_EQ(missing.current, "tpu:0");
    EXPECT_FALSE(missing.automatic);
    EXPECT_THAT(missing.why, HasSubstr("mps (--device)"));
    const auto strict =
        report_of(answers, host(), settings({{Setting::device, "mps"}, {Setting::recovery, "off"}}))
            .value();
    EXPECT_EQ(strict.current, "");
}

TEST(DeviceReport, SaysWhatToDo) {
    const auto lines = [](const std::vector<ProbeAnswer>& answers, const HostFacts& facts) {
        return report_of(answers, facts, settings())->recommendations;
    };
    EXPECT_THAT(lines({}, host()), ElementsAre(HasSubstr("no GPU is here")));
    auto without = host();
    without.torch_version.clear();
    EXPECT_THAT(lines({}, without), ElementsAre(HasSubstr("no torch is here")));
    EXPECT_THAT(lines({answer(Probe::nvidia_smi, "nvidia-smi", "0, B, 1, 1, 9.0")}, host()),
                ElementsAre(HasSubstr("torch 2.13.0 does not use cuda:0")));
}

TEST(DeviceReport, PrintsTextAndJson) {
    auto failed = answer(Probe::jax, "JAX", "");
    const auto report = report_of({failed, answer(Probe::pytorch, "PyTorch", gpu("A\\u001b[31m"))},
                                  host(), settings())
                            .value();
    const std::string text = display::device_report(report, false);
    EXPECT_THAT(text, HasSubstr("* cuda:0  A\\x1b[31m\n"));
    EXPECT_THAT(text, HasSubstr("JAX         failed: it printed nothing (0.5 s)"));
    const auto json = nlohmann::json::parse(display::device_report_json(report));
    EXPECT_EQ(json["devices"][0]["batch_factor"], 4);
    EXPECT_EQ(json["probes"][0]["why"], "it printed nothing");
}

}  // namespace
}  // namespace compat::run
