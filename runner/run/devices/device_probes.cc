#include "runner/run/devices/device_probes.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <memory>

#include "runner/base/files.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/process/process_end.h"
#include "runner/base/text.h"
#include "runner/exec/loop.h"
#include "runner/plan/command.h"
#include "runner/prepare/tool.h"
#include "runner/run/variables.h"

namespace compat::run {

namespace {

constexpr Milliseconds kGrace{1'500};  // each for SIGTERM and SIGKILL
constexpr std::uint64_t kMostBytes = 1 << 20;

struct Asked {
    Probe probe;
    const char* name;
    std::vector<std::string> argv;
    plan::Variables env;
};

bool has_package(const prepare::Environment& environment, std::string_view name) {
    return environment.packages.contains(std::string(name));
}

Asked pytorch(const ProbeRequest& request) {
    const auto& environment = *request.environment;
    if (!request.shim_variables.empty())
        return {Probe::pytorch,
                "PyTorch",
                {environment.python.string(), request.script.string(), "pytorch"},
                request.shim_variables};
    auto probe = prepare::device_probe(environment, request.shim_library);
    return {Probe::pytorch, "PyTorch", std::move(probe.argv), std::move(probe.env)};
}

std::vector<Asked> asked_by(const ProbeRequest& request) {
    std::vector<Asked> asked;
    const auto python = [&](Probe probe, const char* name, const char* word) {
        asked.push_back({probe,
                         name,
                         {request.environment->python.string(), request.script.string(), word},
                         {{"ACTIVATE_TORCH_DEVICE", "0"}}});
    };
    if (request.environment && !request.shim_library.empty()) asked.push_back(pytorch(request));
    if (request.environment && has_package(*request.environment, "tensorflow"))
        python(Probe::tensorflow, "TensorFlow", "tensorflow");
    if (const auto program = prepare::find_program("nvidia-smi"); !program.empty())
        asked.push_back(
            {Probe::nvidia_smi,
             "nvidia-smi",
             {program.string(), "--query-gpu=index,name,memory.total,memory.free,compute_cap",
              "--format=csv,noheader,nounits"},
             {}});
    if (request.environment && has_package(*request.environment, "jax"))
        python(Probe::jax, "JAX", "jax");
    return asked;
}

// In bytes; empty: "[N/A]", as a board says that does not know, or no size.
std::optional<std::int64_t> mebibytes(std::string_view text) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() >> 20;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > kMost)
        return std::nullopt;
    return number << 20;
}

// A line: "0, NVIDIA H100 80GB HBM3, 81559, 81000, 9.0". Sizes are MiB.
Expected<HostDevices> parse_nvidia_smi(std::string_view output) {
    static const RE2 row(R"((\d+), (.+), (\d+|\[.*\]), (\d+|\[.*\]), ([\d.]+|\[.*\])\s*)");
    HostDevices host;
    for (size_t begin = 0; begin < output.size();) {
        const size_t end = std::min(output.find('\n', begin), output.size());
        const std::string_view line = output.substr(begin, end - begin);
        begin = end + 1;
        if (line.empty()) continue;
        std::string index, name, total, free, capability;
        if (!RE2::FullMatch(line, row, &index, &name, &total, &free, &capability))
            return fail(ErrorKind::environment,
                        fmt::format("it printed no list of devices: {}", line.substr(0, 120)));
        devices::DeviceCapabilities device;
        device.device = "cuda:" + index;
        device.type = "cuda";
        device.name = name;
        device.memory_total = mebibytes(total);
        device.memory_free = mebibytes(free);
        if (capability.front() != '[') device.capability = capability;
        host.devices.push_back({std::move(device), {}});
    }
    return host;
}

// Begins a line; frameworks print before and after it.
Expected<HostDevices> parse_json_answer(std::string_view output) {
    size_t begin = output.starts_with('{') ? 0 : std::string_view::npos;
    if (const size_t found = output.rfind("\n{"); found != std::string_view::npos)
        begin = found + 1;
    if (begin == std::string_view::npos) {
        const std::string_view line = output.substr(0, output.find('\n'));
        return fail(ErrorKind::environment,
                    line.empty() ? "it printed nothing"
                                 : fmt::format("it printed no list of devices: {}",
                                               printable(std::string(line.substr(0, 120)))));
    }
    const std::string_view json = output.substr(begin);
    if (auto host = parse_devices(json)) return host;
    return parse_devices(json.substr(0, json.find('\n')));
}

// The last line with words says what went wrong, as in a traceback.
std::string last_line(std::string_view output) {
    while (!output.empty() && (output.back() == '\n' || output.back() == ' '))
        output.remove_suffix(1);
    const size_t begin = output.rfind('\n');
    return printable(
        std::string(output.substr(begin == std::string_view::npos ? 0 : begin + 1).substr(0, 200)));
}

void read_answer(ProbeAnswer& answer, const ProcessEnd& end, const FileBelow& log) {
    const std::string output = read_file(log).value_or("");
    if (end.kind == ProcessEnd::Kind::timed_out) {
        answer.why = fmt::format("no answer in {} s", kProbeLimit.count() / 1000);
    } else if (end.kind != ProcessEnd::Kind::exited || end.code != 0) {
        const std::string line = last_line(output);
        answer.why = fmt::format("{}{}{}", describe(end), line.empty() ? "" : ": ", line);
    } else if (auto found = parse_answer(answer.probe, output)) {
        answer.found = std::move(*found);
    } else {
        answer.why = found.error().message;
    }
}

}  // namespace

Expected<HostDevices> parse_answer(Probe probe, std::string_view output) {
    return probe == Probe::nvidia_smi ? parse_nvidia_smi(output) : parse_json_answer(output);
}

Expected<std::vector<ProbeAnswer>> ask_probes(const ProbeRequest& request) {
    const auto asked = asked_by(request);
    std::vector<ProbeAnswer> answers;
    if (asked.empty()) return answers;
    const auto scratch = TRY(TemporaryFolder::create("devices"));
    const auto common = std::make_shared<exec::Variables>(inherited_environment());
    std::vector<exec::Job> jobs;
    for (const auto& [probe, name, argv, env] : asked) {
        answers.push_back({probe, name, {}, {}, 0});
        exec::Job job;
        job.name = name;
        job.argv = argv;
        job.cwd = scratch.path();
        job.common_env = common;
        job.env = env;
        job.log = scratch.path() / fmt::format("{}.log", jobs.size());
        job.events = scratch.path() / fmt::format("{}.events", jobs.size());
        job.timeout = kProbeLimit;
        job.log_bytes = kMostBytes;
        jobs.push_back(std::move(job));
    }
    exec::Settings settings;
    settings.parallel = static_cast<int>(jobs.size());
    settings.dump_grace = Milliseconds{0};
    settings.term_grace = settings.kill_grace = kGrace;
    const auto files = jobs;
    exec::RunFinished finished;
    exec::run_jobs(std::move(jobs), settings, SystemClock(),
                   [&](const exec::RunEvent& event) -> exec::Reply {
                       if (const auto* end = std::get_if<exec::RunFinished>(&event))
                           finished = *end;
                       if (const auto* done = std::get_if<exec::JobFinished>(&event)) {
                           auto& answer = answers[done->job];
                           answer.seconds = done->cost.duration_s;
                           read_answer(answer, done->end, files[done->job].log);
                       }
                       return {};
                   });
    if (finished.stopped) return fail(ErrorKind::interrupted, finished.reason);
    return answers;
}

}  // namespace compat::run
