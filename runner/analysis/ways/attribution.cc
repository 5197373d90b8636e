#include "runner/analysis/ways/attribution.h"

#include <algorithm>

namespace compat::analysis {

namespace {

using parsers::Cause;

constexpr std::string_view kAbsentDevice = "no-device";

// The first row that is fulfilled decides: first what fails without the shim, too, then the
// recoveries.
constexpr AttributionRule kAttributions[] = {
    {.id = "asks-for-absent-device",
     .about = About::absent_device,
     .where = Where::plain_cpu,
     .shown = Shown::fails_alike,
     .words = "plain CPU lacks the device, too, so it says nothing more"},
    {.id = "needs-real-weights",
     .about = About::generated,
     .where = Where::plain_cpu,
     .shown = Shown::fails_alike,
     .words = "fails the same on plain CPU with generated weights or data: it needs the real ones"},
    {.id = "alike-with-generated",
     .about = About::of_generated,
     .where = Where::plain_cpu,
     .shown = Shown::fails_alike,
     .words =
         "fails the same on plain CPU with generated weights or data: no matter of the device"},
    {.id = "upstream",
     .where = Where::plain_cpu,
     .shown = Shown::fails_alike,
     .cause = Cause::upstream,
     .words = "fails the same on plain CPU, without the shim"},
    {.id = "passes-with-fallback",
     .where = Where::fallback,
     .cause = Cause::op_missing,
     .words = "passes with fallback on: the device lacks an operator that the CPU then computes"},
    {.id = "passes-in-float32",
     .where = Where::float32,
     .cause = Cause::dtype_limit,
     .words = "passes in float32: the code sets another default dtype"},
    {.id = "passes-redirected",
     .where = Where::redirect_all,
     .cause = Cause::device_mismatch,
     .words = "passes where every request gets one device"},
    {.id = "passes-alone",
     .where = Where::alone,
     .cause = Cause::resource,
     .words = "passes alone, with caches off"},
    {.id = "passes-with-blocking",
     .where = Where::blocking,
     .words = "passes in a process of its own with CUDA_LAUNCH_BLOCKING=1: what ran before it, or "
              "the order of kernels, decides"},
    {.id = "same-on-cuda",
     .where = Where::has_cuda,
     .shown = Shown::fails_alike,
     .words = "fails the same on CUDA: the code's own error, not for being sent to MPS"},
    {.id = kRedirectedOnly,
     .where = Where::bare_mac,
     .words = "passes on a bare Mac: fails only where CUDA code is sent to MPS"},
    {.id = "shim-only",
     .about = About::shim_alone,
     .where = Where::plain_cpu,
     .cause = Cause::shim_defect,
     .words = "passes on plain CPU: fails only with the shim"},
    {.id = "not-the-device",
     .about = About::no_device,
     .where = Where::plain_cpu,
     .words = "passes on plain CPU, but the failure blames no device: what it names was not there"},
    {.id = "device-only",
     .where = Where::plain_cpu,
     .words = "passes on plain CPU: the device, or the code for it, is the cause"},
    {.id = "fails-otherwise-on-cpu",
     .where = Where::plain_cpu,
     .shown = Shown::fails_otherwise,
     .words = "fails on plain CPU, too, in another way"},
};

constexpr std::string_view kUndecided = "the other ways in which it ran decide nothing";

// The way in which a diagnostic attempt runs.
Way effective(const Way& way) {
    Way changed = way;
    if (way.step == DiagnosticStep::fallback) changed.fallback = true;
    if (way.step == DiagnosticStep::redirect_all) changed.policy = "full";
    if (way.step == DiagnosticStep::cpu) changed = {false, "cpu", {}, {}, true, way.step};
    return changed;
}

bool redirects(const Way& way) { return way.shim && !way.policy.empty() && way.policy != "none"; }

bool sends_cuda_code_elsewhere(const Way& way) {
    return way.kind().takes_cuda_code() && redirects(way);
}

bool is_there(Where where, const Way& own, const OtherWay& other) {
    const Way way = effective(other.way);
    switch (where) {
        case Where::plain_cpu:
            return way.is_plain_cpu();
        case Where::fallback:
            return own.kind().has_fallback && !own.fallback && &way.kind() == &own.kind() &&
                   way.fallback && way.policy == own.policy && way.simulated == own.simulated;
        case Where::float32:
            return way.step == DiagnosticStep::float32;
        case Where::redirect_all:
            return way.policy == "full" && own.policy != "full" && own.simulated == way.simulated;
        case Where::alone:
            return way.step == DiagnosticStep::alone;
        case Where::blocking:
            return way.step == DiagnosticStep::blocking;
        case Where::bare_mac:
            return sends_cuda_code_elsewhere(own) && &way.kind() == &own.kind() && !redirects(way);
        case Where::has_cuda:
            return sends_cuda_code_elsewhere(own) && way.kind().serves_cuda;
    }
    return false;
}

// Whether the failure's text alone blames a device, the machine or a package.
bool blames_something(Cause cause) {
    constexpr std::array kUnexplained{Cause::suite_assertion, Cause::suite_error, Cause::tolerance,
                                      Cause::torch_core,      Cause::crash,       Cause::timeout,
                                      Cause::unknown};
    return std::find(kUnexplained.begin(), kUnexplained.end(), cause) == kUnexplained.end();
}

// Something was not there that any device needs, which may be there in the other run.
bool blames_no_device(const OwnWay& own) {
    const Cause cause = own.without_generated.value_or(own.cause);
    return cause == Cause::hub || cause == Cause::infrastructure ||
           (cause == Cause::environment && own.rule != kAbsentDevice);
}

bool is_about(About about, const OwnWay& own) {
    switch (about) {
        case About::any:
            return true;
        case About::absent_device:
            return own.rule == kAbsentDevice;
        case About::shim_alone:
            return own.way.shim && own.way.simulated.empty() && !is_accelerator(own.way.device) &&
                   !blames_something(own.without_generated.value_or(own.cause));
        case About::generated:
            return own.without_generated.has_value();
        case About::of_generated:
            return own.generated;
        case About::no_device:
            return blames_no_device(own);
    }
    return false;
}

}  // namespace

std::span<const AttributionRule> attribution_rules() { return kAttributions; }

std::optional<Attribution> attribute(const OwnWay& own, const std::vector<OtherWay>& others) {
    // A failure on plain CPU has nothing to do with the shim or a device.
    if (others.empty() || own.way.is_plain_cpu()) return std::nullopt;
    const auto tells = [&](const OtherWay& other) {
        return other.generated || !own.without_generated;
    };
    for (const AttributionRule& row : kAttributions) {
        if (!is_about(row.about, own)) continue;
        const Cause stays =
            row.shown == Shown::passes ? own.without_generated.value_or(own.cause) : own.cause;
        for (const OtherWay& other : others)
            if (other.shown == row.shown && tells(other) && is_there(row.where, own.way, other))
                return Attribution{row.cause.value_or(stays), row.id, row.words, other.run,
                                   other.as};
    }
    const auto ran =
        std::ranges::find_if(others, [](const OtherWay& other) { return other.as.empty(); });
    return Attribution{
        own.cause, {}, kUndecided, {}, ran == others.end() ? others.front().as : std::string{}};
}

}  // namespace compat::analysis
