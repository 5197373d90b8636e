#include "runner/run/devices/device_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "devices/choice.h"
#include "runner/base/device_kind.h"
#include "runner/base/host.h"

namespace compat::run {

using config::Setting;
using devices::DeviceCapabilities;
using display::DeviceReport;
using display::ReportedDevice;

namespace {

constexpr std::array kReportedSettings{
    Setting::device,          Setting::precision,     Setting::fallback,  Setting::recovery,
    Setting::memory_fraction, Setting::prefer,        Setting::allow_tpu, Setting::optimizations,
    Setting::simulate,        Setting::device_memory, Setting::macos};

// Settings that the device library has, too, and the names that it gives them.
constexpr std::array<std::pair<Setting, std::string_view>, 7> kLibraryNames{
    {{Setting::device, "device"},
     {Setting::precision, "precision"},
     {Setting::recovery, "recovery"},
     {Setting::memory_fraction, "memory_fraction"},
     {Setting::prefer, "prefer"},
     {Setting::allow_tpu, "allow_tpu"},
     {Setting::optimizations, "enable_optimizations"}}};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

double cost_of(std::string_view family, const devices::Settings& settings) {
    constexpr std::array<std::pair<std::string_view, double devices::Settings::*>, 3> costs{
        {{"cpu", &devices::Settings::cost_cpu},
         {"gpu", &devices::Settings::cost_gpu},
         {"tpu", &devices::Settings::cost_tpu}}};
    return settings.*std::ranges::find(costs, family, [](const auto& row) { return row.first; })->second;
}

Expected<devices::Settings> library_settings(const config::Settings& settings) {
    devices::SettingValues values;
    for (const auto& [setting, name] : kLibraryNames)
        values[std::string(name)] = settings.text(setting);
    try {
        auto resolved = devices::resolve_settings(values, {}, devices::environment_variable);
        for (const auto& [setting, name] : kLibraryNames)
            resolved.origin[std::string(name)] = settings[setting].origin;
        return resolved;
    } catch (const devices::SettingError& error) {
        return fail(ErrorKind::usage, error.what());
    }
}

std::vector<display::ReportedSetting> reported_settings(const config::Settings& settings,
                                                        const devices::Settings& library) {
    std::vector<display::ReportedSetting> reported;
    for (const Setting setting : kReportedSettings) {
        const auto& value = settings[setting];
        reported.push_back({std::string(config::row_of(setting).key), value.text, value.origin,
                            value.source != config::Source::fallback});
    }
    for (const auto& row : devices::kSettings) {
        if (std::ranges::find(kLibraryNames, row.name,
                              [](const auto& pair) { return pair.second; }) != kLibraryNames.end())
            continue;
        const std::string& origin = library.origin.at(std::string(row.name));
        const bool given = origin == row.variable;
        reported.push_back({std::string(row.name),
                            given ? variable(origin.c_str()) : std::string(row.fallback), origin,
                            given});
    }
    return reported;
}

const ProbeAnswer* answer_of(const std::vector<ProbeAnswer>& answers, Probe probe) {
    const auto found = std::ranges::find(answers, probe, &ProbeAnswer::probe);
    return found == answers.end() ? nullptr : &*found;
}

// The devices of each kind from the first source that has one: PyTorch, TensorFlow, nvidia-smi for
// GPUs; JAX, then the variables of a Cloud TPU; PyTorch, then the operating system for the CPU.
class Devices {
  public:
    Devices(const std::vector<ProbeAnswer>& answers, const HostFacts& facts) : facts_(facts) {
        for (const Probe probe : {Probe::pytorch, Probe::tensorflow, Probe::nvidia_smi, Probe::jax})
            if (const auto* answer = answer_of(answers, probe)) take(*answer);
        if (!has("tpu") && !facts.tpu_name.empty()) add_cloud_tpu();
        if (!has("cpu")) add({facts.cpu, {}}, "the operating system");
    }
    [[nodiscard]] std::vector<ReportedDevice> all() && { return std::move(found_); }

  private:
    void take(const ProbeAnswer& answer) {
        std::vector<ProbedDevice> more;
        for (const auto& each : answer.found.devices)
            if (!has(device_kind(each.device.type).family)) more.push_back(each);
        for (auto& each : more) add(std::move(each), answer.name);
    }
    void add(ProbedDevice probed, std::string source) {
        ReportedDevice device;
        device.kind = device_kind(probed.device.type).family;
        device.simulated = !facts_.simulated.empty() && probed.device.type == facts_.simulated;
        device.capabilities = std::move(probed.device);
        device.found_by = std::move(source);
        device.metadata = std::move(probed.metadata);
        found_.push_back(std::move(device));
    }
    void add_cloud_tpu() {
        ProbedDevice tpu;
        tpu.device.device = "tpu:0";
        tpu.device.type = "tpu";
        tpu.device.name = facts_.tpu_name;
        tpu.metadata = nlohmann::json{{"zone", facts_.tpu_zone}}.dump(
            -1, ' ', false, nlohmann::json::error_handler_t::replace);
        add(std::move(tpu), "TPU_NAME");
    }
    [[nodiscard]] bool has(std::string_view kind) const {
        return std::ranges::any_of(found_, [&](const auto& each) { return each.kind == kind; });
    }

    const HostFacts& facts_;
    std::vector<ReportedDevice> found_;
};

void choose(DeviceReport& report, const devices::Settings& settings) {
    std::vector<DeviceCapabilities> devices;
    for (const auto& each : report.devices) devices.push_back(each.capabilities);
    try {
        auto choice = devices::best(devices, settings);
        report.current = choice.device.device;
        report.why = std::move(choice.why);
        report.passed_over = std::move(choice.passed_over);
    } catch (const std::exception& error) {
        report.why = error.what();
    }
}

// The next steps of somebody with these devices.
std::vector<std::string> recommendations(const DeviceReport& report, const HostFacts& facts,
                                         const devices::Settings& settings) {
    std::vector<std::string> lines;
    const auto find = [&](std::string_view kind) {
        return std::ranges::find(report.devices, kind, &ReportedDevice::kind);
    };
    const auto end = report.devices.end();
    const auto gpu = find("gpu"), tpu = find("tpu");
    if (facts.torch_version.empty())
        lines.emplace_back("no torch is here: name a Python that has it with --python");
    if (gpu != end && gpu->found_by != "PyTorch" && !facts.torch_version.empty())
        lines.push_back(
            fmt::format("torch {} does not use {}, which {} finds: install a build of "
                        "torch for it",
                        facts.torch_version, gpu->capabilities.device, gpu->found_by));
    if (gpu == end && facts.simulated.empty() && !facts.torch_version.empty())
        lines.emplace_back(
            "no GPU is here: `runner run --simulate mps` and `--simulate cuda` try code without "
            "one");
    if (settings.device != "auto" && !report.current.starts_with(settings.device))
        lines.push_back(
            fmt::format("a run of a suite with device {} ends with an error: it is not "
                        "here",
                        settings.device));
    if (tpu != end && !settings.allow_tpu)
        lines.push_back(fmt::format("{} is not used: COMPUTE_ALLOW_TPU=on allows it",
                                    tpu->capabilities.device));
    const auto current = std::ranges::find(
        report.devices, report.current,
        [](const ReportedDevice& each) -> const std::string& { return each.capabilities.device; });
    if (current == end) return lines;
    const auto& known = current->capabilities;
    if (known.memory_total && known.memory_free && *known.memory_free < *known.memory_total / 10)
        lines.push_back(
            fmt::format("less than a tenth of the memory of {} is free: end what holds "
                        "it, or use smaller batches",
                        known.device));
    if (current->simulated) return lines;
    if (current->kind == "gpu" && (current->dtype == "bf16" || current->dtype == "fp16"))
        lines.push_back(fmt::format(
            "{} works on {}: torch.autocast(\"{}\", torch.{}) computes in it", current->dtype,
            known.device, known.type, current->dtype == "bf16" ? "bfloat16" : "float16"));
    if (current->batch_factor > 1)
        lines.push_back(fmt::format("{} times the batch of a CPU keeps {} busy",
                                    current->batch_factor, known.device));
    return lines;
}

}  // namespace

HostFacts host_facts(const std::optional<prepare::Environment>& environment,
                     const std::string& simulated) {
    HostFacts facts;
    facts.cpu.device = facts.cpu.type = "cpu";
    facts.cpu.name = cpu_model();
    facts.cpu.dtypes = {{"fp32", true, ""}};  // this program computes with it
    const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGE_SIZE));
    facts.cpu.memory_total = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
#ifdef _SC_AVPHYS_PAGES
    facts.cpu.memory_free = static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * page;
#endif
    facts.simulated = simulated;
    facts.tpu_name = variable("TPU_NAME");
    facts.tpu_zone = variable("TPU_ZONE");
    if (!environment) return facts;
    facts.torch_version = environment->torch_version;
    const auto version = [&](const char* package) {
        const auto found = environment->packages.find(package);
        return found == environment->packages.end() ? std::string() : found->second;
    };
    facts.tensorflow = version("tensorflow");
    facts.jax = version("jax");
    return facts;
}

Expected<DeviceReport> report_of(const std::vector<ProbeAnswer>& answers, const HostFacts& facts,
                                 const config::Settings& settings) {
    const auto resolved = TRY(library_settings(settings));
    const devices::Settings& library = resolved;
    DeviceReport report;
    report.devices = Devices(answers, facts).all();
    for (auto& device : report.devices) {
        device.cost_per_hour = cost_of(device.kind, library);
        device.batch_factor = devices::batch(1, device.capabilities, library).size;
        if (device.capabilities.dtypes.empty()) continue;
        const auto dtype = devices::recommended_dtype(device.capabilities, library);
        device.dtype = dtype.dtype;
        device.dtype_why = dtype.why;
    }
    choose(report, library);
    report.automatic = library.device == "auto" && library.prefer == "auto";
    report.frameworks = {
        {"PyTorch", facts.torch_version}, {"TensorFlow", facts.tensorflow}, {"JAX", facts.jax}};
    report.settings = reported_settings(settings, library);
    for (const auto& answer : answers) {
        report.probes.push_back({answer.name, answer.why, answer.seconds});
        for (const auto& [asked, why] : answer.found.failed)
            report.probes.push_back(
                {fmt::format("{} {}", answer.name, asked), why, answer.seconds});
    }
    report.recommendations = recommendations(report, facts, library);
    return report;
}

}  // namespace compat::run
