#include "runner/cli/doctor_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "runner/base/text.h"
#include "runner/prepare/tool.h"
#include "runner/run/isolation/sandbox.h"

namespace compat::cli {

using config::Setting;
using Findings = std::vector<Finding>;

namespace {

Finding::Kind kind_of(bool good) { return good ? Finding::Kind::good : Finding::Kind::missing; }

Findings find_venv(const Requirement&, const DoctorInput& input) {
    const std::string& base = input.settings.text(Setting::base_python);
    const auto version = prepare::output_of(
        {{base, "-c", "import venv, ensurepip, sys; print(sys.version.split()[0])"},
         prepare::kNoProject,
         {}});
    if (!version) return {{kind_of(false), base}};
    return {{kind_of(true), fmt::format("{} {}", base, version->substr(0, version->find('\n')))}};
}

Findings find_build_tool(const Requirement& requirement, const DoctorInput&) {
    const std::string program(requirement.name);
    return {{kind_of(!prepare::find_program(program, prepare::build_path()).empty())}};
}

Findings find_sandbox(const Requirement&, const DoctorInput& input) {
    const auto sandbox = run::check_sandbox();
    if (sandbox) return {{kind_of(true)}};
    const bool wanted = input.settings.text(Setting::isolation) == "sandbox";
    return {{wanted ? Finding::Kind::missing : Finding::Kind::unneeded,
             {},
             printable(to_line(sandbox.error()))}};
}

// To the folder, or to the nearest one above it that exists.
template <Setting setting>
Findings find_write_access(const Requirement&, const DoctorInput& input) {
    const std::string& named = input.settings.text(setting);
    fs::path folder = fs::absolute(named);
    std::error_code error;
    while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
    return {{kind_of(::access(folder.c_str(), W_OK | X_OK) == 0), named}};
}

Findings find_system_packages(const Requirement&, const DoctorInput& input) {
    Findings missing;
    if (!input.suite) return missing;
    for (const auto& package : prepare::missing_system_packages(input.suite->system_packages))
        missing.push_back({kind_of(false), fmt::format("{} (for {})", package, input.suite->name),
                           "apt-get install " + package});
    return missing;
}

// In the environment; before there is one, in the Python that will create it.
Findings find_gil(const Requirement&, const DoctorInput& input) {
    if (!input.settings.on(Setting::shim)) return {};
    prepare::Environment environment;
    if (input.environment && *input.environment) {
        environment = **input.environment;
    } else {
        environment.python = input.settings.text(Setting::base_python);
        constexpr const char* kAsk = "import sysconfig; print(sysconfig.get_config_var('SOABI'))";
        environment.soabi =
            prepare::output_of({{environment.python.string(), "-c", kAsk}, prepare::kNoProject, {}})
                .value_or("");
        if (environment.soabi.empty()) return {};  // "python" says so
    }
    return {{kind_of(prepare::check_gil(environment).has_value()), environment.python.string()}};
}

Findings find_torch(const Requirement&, const DoctorInput& input) {
    if (input.python.empty()) return {};
    const auto& environment = input.environment;
    if (!environment) return {{kind_of(false), input.python, to_line(environment.error())}};
    return {{kind_of(!(*environment)->torch_version.empty()), input.python}};
}

constexpr std::array kRequirements = std::to_array<Requirement>({
    {"python", "Python with venv ({})", prepare::kPythonAdvice, find_venv},
    {"git", "git (fetches sources, reads the commits of checkouts)", "apt-get install git",
     find_build_tool},
    {"cmake", "cmake (builds the shim)", "apt-get install cmake", find_build_tool},
    {"ninja", "ninja (builds the shim)", "apt-get install ninja-build", find_build_tool},
    {"g++", "g++ (builds the shim)", "apt-get install g++", find_build_tool},
    {"bwrap", "bwrap (isolates tests: --isolate sandbox)", "", find_sandbox},
    {"cache", "write access to the cache ({})", "set COMPAT_CACHE to another folder",
     find_write_access<Setting::cache>},
    {"results", "write access to the results folder ({})", "name another folder with --results",
     find_write_access<Setting::results>},
    {"packages", "Debian package {}", "", find_system_packages},
    {"torch", "torch in {}", prepare::kTorchAdvice, find_torch},
    {"gil", "GIL in {}", prepare::kGilAdvice, find_gil},
});

}  // namespace

std::span<const Requirement> requirements() { return kRequirements; }

std::string format_finding(const Requirement& requirement, const Finding& finding) {
    constexpr std::array<std::string_view, 3> kLabels{"ok     ", "MISSING", "without"};
    const std::string text = fmt::format(fmt::runtime(requirement.text), finding.subject);
    std::string line = fmt::format("{} {}", kLabels[static_cast<size_t>(finding.kind)], text);
    if (finding.kind == Finding::Kind::good) return line;
    return fmt::format("{}: {}", line,
                       finding.advice.empty() ? requirement.advice : finding.advice);
}

}  // namespace compat::cli
