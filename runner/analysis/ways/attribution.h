// The cause of a failure, once its test was run in more than one way: with the shim and without,
// simulated, redirected, with fallback on or off, or with a step of `--diagnose`. A table
// (attribution_rules) over what the other ways showed. It refines the diagnosis of the failure's
// text (parsers/diagnosis/diagnose.h) in the same vocabulary of causes. Pure. Not for what to do
// about it (judgement.h).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/diagnosis/diagnosis.h"
#include "runner/analysis/ways/diagnostic_retries.h"

namespace compat::analysis {

// A test's result in another way, compared with the attributed failure. `idle`: it was skipped, not
// run, or is not there.
enum class Shown { passes, fails_alike, fails_otherwise, idle };
inline constexpr std::array<std::string_view, 4> kShownWords{"passes", "fails the same",
                                                             "fails otherwise", "did not run"};

struct OtherWay {
    Way way;
    Shown shown = Shown::idle;
    std::string run{};       // id of the run; empty: the failure's own, or not said
    std::string as{};        // the test that ran, for this one, too; empty: itself
    bool generated = false;  // it used what the hub had generated
};

// How another way differs from that of the failure.
enum class Where {
    plain_cpu,  // without the shim, and without an accelerator
    fallback,   // on the same device, fallback on
    float32,    // the steps of `--diagnose`
    redirect_all,
    alone,
    blocking,
    bare_mac,  // nothing is redirected; the failure's way sends requests for CUDA to MPS
    has_cuda   // the code gets the CUDA that it asks for
};
inline constexpr std::array<std::string_view, 8> kWhereWords{
    "on plain CPU",
    "on the same device with fallback on",
    "in float32",
    "with every device redirected",
    "alone, with caches off",
    "with CUDA_LAUNCH_BLOCKING=1",
    "on a bare Mac, where requests for CUDA were sent to MPS before",
    "on CUDA, where requests for CUDA were sent to MPS before"};

// Which failures a row is about.
enum class About {
    any,
    absent_device,  // the code asks for a device that is not there (rule `no-device`)
    shim_alone,     // nothing is simulated, and the diagnosis does not blame a device
    generated,      // what the hub generated is to blame: it needs real weights or data
    of_generated,   // the test used what the hub generated, which may be to blame
    no_device,      // the diagnosis blames a hub, the machine's set-up or the runner
};
inline constexpr std::array<std::string_view, 6> kAboutWords{
    "any", "a device that is not there",
    "no matter of devices, with the shim on a host without an accelerator",
    "generated weights or data", "a test that used generated weights or data",
    "a hub, the machine's set-up or the runner"};

// A row of the table.
struct AttributionRule {
    std::string_view id;
    About about = About::any;
    Where where = Where::plain_cpu;
    Shown shown = Shown::passes;
    std::optional<parsers::Cause> cause{};  // empty: the diagnosis stays
    std::string_view words;                 // for people
};
[[nodiscard]] std::span<const AttributionRule> attribution_rules();
inline constexpr std::string_view kRedirectedOnly = "redirected-only";

struct Attribution {
    parsers::Cause cause = parsers::Cause::unknown;
    std::string_view rule;   // id of a row; empty: the other ways decide nothing
    std::string_view words;  // of the row
    std::string run{};       // that showed it; empty: the failure's own
    std::string as{};        // the test that ran, for this one, too; empty: itself
};

// A failure and the way in which it broke.
struct OwnWay {
    Way way;
    parsers::Cause cause = parsers::Cause::unknown;  // of its diagnosis
    std::string_view rule{};                         // of its diagnosis
    // Its cause if nothing generated is to blame; empty: the diagnosis blames nothing generated.
    std::optional<parsers::Cause> without_generated{};
    bool generated = false;  // its test used what the hub had generated
};

// The first row that one of the other ways fulfils. Empty: the test ran in one way alone, or
// the failure is on plain CPU. A failure that blames something generated is compared only with ways
// that used such things: one that passes acquits them, and the cause is that of the text.
[[nodiscard]] std::optional<Attribution> attribute(const OwnWay& own,
                                                   const std::vector<OtherWay>& others);

}  // namespace compat::analysis
