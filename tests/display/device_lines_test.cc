#include "runner/display/device_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::display {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DeviceLines, OneLinePerDeviceAndPerFailedQuery) {
    const char* report = R"({"format": 1, "torch": "2.13.0", "built": ["cpu", "mps"], "devices": [
        {"device": "cpu", "type": "cpu", "name": "M2", "memory_total": 17179869184,
         "memory_free": 8589934592, "capability": "DEFAULT",
         "dtypes": {"fp32": {"works": true, "why": null}, "bf16": {"works": true, "why": null}}},
        {"device": "mps:0", "type": "mps", "name": null, "memory_total": null, "memory_free": null,
         "capability": null, "dtypes": {"fp64": {"works": false, "why": "no float64 here"}}}],
        "failed": [{"asked": "xpu", "why": "Aborted, counting devices"}]})";
    EXPECT_THAT(device_lines(report),
                ElementsAre("cpu     M2: 16.0 GiB (8.0 GiB free), DEFAULT, fp32 bf16",
                            "mps:0   no name: ? (? free), no dtype, not fp64 (no float64 here)",
                            "xpu     query failed: Aborted, counting devices"));
    for (const char* other : {"", "[]", R"({"format": 2})", "killed"})
        EXPECT_THAT(device_lines(other), ElementsAre(HasSubstr("unknown format")));
}

TEST(WayWords, NameDeviceFallbackPolicyIsolationAndPart) {
    EXPECT_EQ(words_of({"cpu", "mps", true, "missing", false, false}),
              "device mps (simulated), fallback off, shim redirects missing devices");
    EXPECT_EQ(words_of({"cpu", {}, false, "", true, false}), "device cpu, fallback on, shim off");
    EXPECT_EQ(words_of({"mps", {}, false, "", true, true}), "device mps, imported");
    const auto of = [](const char* isolation, bool network,
                       const std::vector<std::string>& subset) {
        return words_of({"cpu", {}, false, "", true, false, isolation, network, subset})
            .substr(std::string_view("device cpu, fallback on, shim off").size());
    };
    EXPECT_EQ(of("tree", true, {}), ", isolation tree");
    EXPECT_EQ(of("sandbox", false, {}), ", isolation sandbox");
    EXPECT_EQ(of("sandbox", true, {"a.py", "-k", "b or c"}),
              ", isolation sandbox with the network, only a.py -k 'b or c'");
    EXPECT_EQ(of("off", true, {"--", "--runslow"}), ", options --runslow");
    EXPECT_EQ(of("off", true, {"-k", "b", "--", "-x"}), ", only -k b, options -x");
    EXPECT_EQ(of("off", true, std::vector<std::string>(12, "t")),
              ", only t t t t t t t t t t and 2 more targets");
}

}  // namespace
}  // namespace compat::display
