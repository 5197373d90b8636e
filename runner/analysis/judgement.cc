#include "runner/analysis/judgement.h"

#include <algorithm>

#include "runner/base/device_kind.h"

namespace compat::analysis {

namespace {

using parsers::Cause;
using enum Judgement;

constexpr std::string_view kReportIt = "report it: a defect of the runner, not of the port";
constexpr std::string_view kTryOnCuda =
    "nothing to fix: a GPU supports it. Run these tests on one before you rely on them";
constexpr std::string_view kTryOnDevice =
    "nothing to fix: the device supports it. Run these tests on one before you rely on them";
constexpr std::string_view kGiveNetwork =
    "let the sandbox use the network (`--network`), or have the tests use local files";
constexpr std::string_view kNeedsRealWeights =
    "nothing to fix for a device: record the real ones once (`--hub record`) and replay them";
constexpr std::string_view kCpuLacksIt =
    "nothing to fix: the CPU, which computes for the simulated device, lacks it; the device may "
    "not";

// The first rule that matches decides: special rules stand before general ones.
constexpr JudgementRule kTable[] = {
    // The redirection and the simulation themselves.
    {.cause = Cause::infrastructure,
     .judgement = simulator,
     .grouping = Grouping::by_rule,
     .advice = kReportIt},
    {.cause = Cause::shim_defect, .judgement = simulator, .advice = kReportIt},
    {.gap = GapKind::shim_defect, .judgement = simulator, .advice = kReportIt},
    {.random = true,
     .judgement = random,
     .grouping = Grouping::together,
     .title = "tests whose result depends on the random numbers",
     .advice = "nothing to fix for a device, which has other numbers for the same seed: on plain "
               "CPU, allow for more than one seed gives"},
    {.redirected_alone = true,
     .judgement = redirection,
     .advice =
         "nothing to fix for a Mac, which runs this test; the line asks for CUDA, and the code "
         "takes another way for it",
     .may_be_random = true},
    {.rule = "not-simulated",
     .judgement = simulator,
     .grouping = Grouping::by_rule,
     .advice = kTryOnDevice},
    {.rule = "kernel-of-dtype", .judgement = simulator, .advice = kCpuLacksIt},
    {.gap = GapKind::op_unsupported,
     .device = OfDevice::cpu,
     .judgement = simulator,
     .advice = kCpuLacksIt},
    {.gap = GapKind::missing_symbol,
     .device = OfDevice::serves_cuda,
     .judgement = simulator,
     .advice = kTryOnCuda},
    {.gap = GapKind::op_unsupported,
     .device = OfDevice::serves_cuda,
     .judgement = simulator,
     .advice = kTryOnCuda},
    {.gap = GapKind::dtype_unsupported,
     .device = OfDevice::serves_cuda,
     .judgement = simulator,
     .advice = kTryOnCuda},

    // The device refuses these too. The advice comes from the gap log.
    {.gap = GapKind::missing_symbol, .device = OfDevice::other, .judgement = device_limit},
    {.gap = GapKind::op_unsupported, .device = OfDevice::other, .judgement = device_limit},
    {.gap = GapKind::dtype_unsupported, .device = OfDevice::other, .judgement = device_limit},
    {.cause = Cause::fell_back,
     .judgement = device_limit,
     .advice = "let the warning pass where the suite makes it an error, or use an operator that "
               "the device has"},

    // The code names devices.
    {.rule = "no-device",
     .device = OfDevice::other,
     .judgement = device_handling,
     .grouping = Grouping::together,
     .title = "the code asks for CUDA by name",
     .advice = "choose the device in one place, as `torch.accelerator.current_accelerator()`; "
               "docs/guide/porting.md has what to write instead of each call"},
    {.rule = "deserialize-on-device",
     .judgement = device_handling,
     .grouping = Grouping::together,
     .title = "a file saved on another device is loaded without map_location",
     .advice = "`torch.load(f, map_location=device)`"},
    {.rule = "tensor-to-numpy",
     .judgement = device_handling,
     .advice = "`x.cpu().numpy()`: NumPy reads host memory"},
    {.rule = "device-unknown-to-code",
     .judgement = device_handling,
     .advice = "the code raises this itself: add the device to those that it takes"},
    {.rule = "needs-host-tensor",
     .judgement = device_handling,
     .advice = "`x.cpu()`: the operation reads this argument on the host"},
    {.cause = Cause::device_mismatch,
     .judgement = device_handling,
     .grouping = Grouping::by_function,
     .advice = "make the tensor where its partner is: `device=x.device`, `x.new_zeros(…)`, "
               "`.to(x.device)`, `register_buffer`"},
    {.cause = Cause::device_assertion,
     .judgement = device_asserted,
     .grouping = Grouping::together,
     .title = "tests compare a device with a name, an index or a kind, and it is another",
     .advice = "if the tensor should have moved, look where the code left it behind; else compare "
               "with the device that the test chose: `x.device.type == device.type`"},

    // A refusal that names no gap.
    {.rule = "not-implemented",
     .judgement = unexplained,
     .advice = "see whether the device refused it or the code under test"},
    {.cause = Cause::op_missing,
     .device = OfDevice::serves_cuda,
     .judgement = simulator,
     .advice = kTryOnCuda},
    {.cause = Cause::dtype_limit,
     .device = OfDevice::serves_cuda,
     .judgement = simulator,
     .advice = kTryOnCuda},
    {.rule = "dtype-pair",
     .judgement = unexplained,
     .advice = "two dtypes meet that are one on the CPU: look for a float64 that was made float32 "
               "for the device"},
    {.cause = Cause::op_missing,
     .judgement = device_limit,
     .advice = "run it on the CPU, or write it of operators that the device has"},
    {.cause = Cause::dtype_limit,
     .judgement = device_limit,
     .advice = "use another dtype there, float32 for float64, or keep that part on the CPU"},

    // Not about devices.
    {.rule = "sandbox-read-only",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests write to a folder that is read-only in the sandbox",
     .advice = "write below HOME, TMPDIR or the source; `--isolate tree` lets them write anywhere"},
    {.rule = "sandbox-hidden",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests read credentials, which the sandbox hides",
     .advice = "give them as variables (`--env`), or use `--isolate tree`"},
    {.rule = "sandbox-no-network",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests need the network, and the sandbox has none",
     .advice = kGiveNetwork},
    {.rule = "sandbox-refused",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests connect to a server that the sandbox does not have, or not yet",
     .advice = kGiveNetwork},
    {.rule = "sandbox-variable",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests read environment variables that are not set in the sandbox",
     .advice = "the sandbox gets few of yours: set them with `--env NAME=VALUE`"},
    {.rule = "sandbox-full",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "a folder in memory of the sandbox is full, or the disk is",
     .advice = "allow more (`--tmp-size`), or make room on the disk"},
    {.rule = "sandbox-bus-error",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "shared memory has no room in the sandbox: /dev/shm is full",
     .advice = "allow more (`--tmp-size`)"},
    {.rule = "sandbox-missing",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests read files in folders that are empty in the sandbox: /tmp, /run, HOME",
     .advice = "keep them in the suite, or in another folder that a variable names (`--env`)"},
    {.rule = "sandbox-no-process",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests look for processes that the sandbox does not show",
     .advice = "`--isolate tree` shows the host's"},
    {.rule = "sandbox-not-permitted",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title = "tests need a right that the sandbox withholds",
     .advice = "see whether they pass with `--isolate tree`"},
    {.cause = Cause::dependency,
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .advice = "install what is missing, in the version that fits"},
    {.cause = Cause::hub,
     .rule = "generated-numbers",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title =
         "tests compare numbers with those of real weights or data, and ran with generated ones",
     .advice = kNeedsRealWeights},
    {.cause = Cause::hub,
     .rule = "generated-values",
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .title =
         "tests compare values with those of real weights or data, and ran with generated ones",
     .advice = kNeedsRealWeights},
    {.cause = Cause::hub,
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .advice = "make the files available"},
    {.cause = Cause::resource,
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .advice = "fewer jobs, more memory"},
    {.cause = Cause::environment,
     .judgement = environment,
     .grouping = Grouping::by_rule,
     .advice = "a file, a program or a port is not as the tests expect: see what they say"},

    // Not explained.
    {.after_refusal = true,
     .judgement = unexplained,
     .advice = "the code under test caught the refusal and went on: look there first"},
    {.cause = Cause::tolerance,
     .judgement = unexplained,
     .grouping = Grouping::together,
     .title = "numbers differ",
     .advice = "the simulated device computes on the CPU: look for float32 in the place of "
               "float64. Of a real device's own numbers this says nothing",
     .may_be_random = true},
    {.cause = Cause::timeout,
     .judgement = unexplained,
     .grouping = Grouping::together,
     .title = "tests take too long",
     .advice = "a simulated device is slower than the CPU: give more time (`--test-timeout`), then "
               "read the stacks in the log"},
    {.cause = Cause::crash,
     .judgement = unexplained,
     .advice = "read the end of its log; the simulation may have died where a device refuses"},
    {.judgement = unexplained,
     .advice = "run it with the command in its run's report, and see what differs on a device",
     .may_be_random = true},
};

bool is_about(OfDevice wanted, std::string_view device) {
    switch (wanted) {
        case OfDevice::any:
            return true;
        case OfDevice::cpu:
            return !is_accelerator(device);
        case OfDevice::serves_cuda:
            return device_kind(device).serves_cuda;
        case OfDevice::other:
            return device_kind(device).simulated > 0 && device_kind(device).takes_cuda_code();
    }
    return false;
}

bool matches(const JudgementRule& row, const Evidence& evidence) {
    return (!row.cause || *row.cause == evidence.cause) &&
           (row.rule.empty() || row.rule == evidence.rule) &&
           (!row.gap || row.gap == evidence.gap) && is_about(row.device, evidence.device) &&
           (!row.after_refusal || evidence.after_refusal) &&
           (!row.redirected_alone || evidence.redirected_alone) && (!row.random || evidence.random);
}

}  // namespace

std::span<const JudgementRule> judgement_rules() { return kTable; }

const JudgementRule& judge(const Evidence& evidence) {
    return *std::find_if(std::begin(kTable), std::end(kTable),
                         [&](const JudgementRule& row) { return matches(row, evidence); });
}

}  // namespace compat::analysis
