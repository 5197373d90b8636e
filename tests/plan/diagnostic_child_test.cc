#include "runner/plan/diagnostic_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace compat::plan {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::Pair;

class DiagnosticChildTest : public ::testing::Test {
  protected:
    DiagnosticChildTest() {
        suite.framework = Framework::pytest;
        settings.python = "/env/bin/python";
        settings.shim_library = "/cache/shim.so";
        settings.simulate = "mps";
        settings.policy = "none";
        settings.fallback = false;
        settings.keyword = "slow";
        settings.maxfail = 1;
        settings.processes = 8;
        settings.device_library = {{"COMPAT_PRECISION", "fp16"}, {"COMPAT_DEVICE", "mps"}};
        settings.inherited = {{"ACTIVATE_TORCH_DEVICE", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}};
    }
    std::map<std::string, std::string> env(DiagnosticStep step) const {
        const auto changed = settings_of(step, settings);
        const auto common = child_variables(suite, changed);
        std::map<std::string, std::string> all{common.begin(), common.end()};
        for (const auto& [name, value] : variables_of(step)) all[name] = value;
        return all;
    }
    std::vector<std::string> argv(DiagnosticStep step) const {
        return child_command(
                   suite, settings_of(step, settings),
                   {"tests/test_a.py", {"tests/test_a.py::t"}, 0},
                   {"/r/1.log", "/r/1.events.jsonl", "/r/1.devices.jsonl", "/r/1.only", "r/1"})
            .argv;
    }

    suites::Suite suite;
    ChildSettings settings;
};

TEST_F(DiagnosticChildTest, EachStepChangesWhatItSays) {
    using enum DiagnosticStep;
    EXPECT_THAT(env(redirect_all), Contains(Pair("TORCHDEVICE_MODE", "full")));
    EXPECT_THAT(env(fallback), Contains(Pair("PYTORCH_ENABLE_MPS_FALLBACK", "1")));
    EXPECT_THAT(env(alone), Contains(Pair("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")));
    EXPECT_THAT(env(blocking), Contains(Pair("CUDA_LAUNCH_BLOCKING", "1")));
    EXPECT_THAT(argv(float32), Contains("--default-dtype"));
    const auto plain = env(cpu);
    EXPECT_THAT(plain, Not(Contains(Pair("ACTIVATE_TORCH_DEVICE", "1"))));
    EXPECT_THAT(plain, Contains(Pair("CUDA_VISIBLE_DEVICES", "")));
    EXPECT_FALSE(plain.contains("TORCHDEVICE_SIMULATE"));
    EXPECT_THAT(plain, Contains(Pair("COMPAT_DEVICE", "cpu")));
    EXPECT_THAT(plain, Contains(Pair("COMPAT_PRECISION", "fp16")));
}

TEST_F(DiagnosticChildTest, NothingElseChanges) {
    const auto before = child_variables(suite, settings);
    for (size_t i = 0; i < kDiagnosticSteps.size(); ++i) {
        const auto step = static_cast<DiagnosticStep>(i);
        if (step == DiagnosticStep::cpu) continue;
        const auto now = env(step);
        int changed = 0;
        for (const auto& [name, value] : before) {
            if (name == "TORCHDEVICE_PROCESSES") continue;  // it runs alone
            const auto at = now.find(name);
            changed += at == now.end() || at->second != value;
        }
        EXPECT_LE(changed, 1) << name_of(step);
        EXPECT_THAT(argv(step), Not(Contains("--select"))) << "one test is asked for by its id";
    }
}

}  // namespace
}  // namespace compat::plan
