// Resolves each setting to a value with its origin. The order is flag, COMPAT_*, the project's
// configuration file, suite.json, the user's configuration file, default. Not here: the list of
// settings (settings_table.h) and their effects.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/config/config_file.h"
#include "runner/config/settings_table.h"
#include "suites/suite.h"

namespace compat::config {

enum class Source { flag, variable, project_file, suite, environment, user_file, fallback };

struct Value {
    std::string text;
    std::string
        origin;  // "--jobs", "COMPAT_JOBS", "/p/runner.json:2:11", "suite: retries", "default"
    Source source = Source::fallback;

    // Whether the user set it, for this run or for all.
    [[nodiscard]] bool given() const {
        return source != Source::suite && source != Source::fallback;
    }
};

// Origin of the Python of a project's own environment.
inline constexpr std::string_view kProjectEnvironment = ".venv";

using Flags = std::map<Setting, std::string>;

// The parts of a command line that all commands share.
struct Invocation {
    Flags flags;
    std::vector<std::string> argv;       // as typed
    std::vector<std::string> passed_on;  // words after the first "--", for pytest or a program
    fs::path suite;                      // as given; empty: the command names none
    fs::path project{};                  // whose environment counts while no suite is loaded
};

// The text of a setting before a suite is loaded; empty if a configuration file has an error.
[[nodiscard]] std::string text_before_suite(const Invocation& invocation, Setting setting);

// The absolute folder of the results. Errors: usage, if a setting is invalid.
[[nodiscard]] Expected<fs::path> results_folder(const Invocation& invocation);

class Settings {
  public:
    // `suite` may be null: none is loaded. Errors: usage, naming the flag, the variable or the
    // file's line, and the allowed values.
    [[nodiscard]] static Expected<Settings> resolve(const Invocation& invocation,
                                                    const suites::Suite* suite);

    [[nodiscard]] const Value& operator[](Setting setting) const { return values_.at(setting); }
    [[nodiscard]] const std::string& text(Setting setting) const {
        return values_.at(setting).text;
    }
    [[nodiscard]] bool on(Setting setting) const { return text(setting) == "on"; }
    // A word of the table of devices; empty: no accelerator is simulated.
    [[nodiscard]] std::string simulated() const {
        return text(Setting::simulate) == "off" ? "" : text(Setting::simulate);
    }
    // Whether tensors on the simulated device report themselves as CUDA tensors.
    [[nodiscard]] bool masquerades() const {
        return !simulated().empty() && device_kind(simulated()).takes_cuda_code() &&
               text(Setting::policy) != "none" && on(Setting::masquerade);
    }
    [[nodiscard]] int jobs() const { return jobs_; }
    [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
    [[nodiscard]] std::chrono::milliseconds test_timeout() const { return test_timeout_; }
    [[nodiscard]] std::chrono::milliseconds diagnose_time() const { return diagnose_time_; }
    // For a setting that is a size.
    [[nodiscard]] std::uint64_t bytes(Setting setting) const { return bytes_of(text(setting)); }
    [[nodiscard]] int retries() const { return retries_; }
    [[nodiscard]] int seeds() const { return seeds_; }
    // The configuration files that were read, the project's first.
    [[nodiscard]] const std::vector<fs::path>& files() const { return files_; }

  private:
    [[nodiscard]] Expected<void> settle_redirection();

    std::map<Setting, Value> values_;
    std::vector<fs::path> files_;
    int jobs_ = 1;
    std::chrono::milliseconds timeout_{};
    std::chrono::milliseconds test_timeout_{};
    std::chrono::milliseconds diagnose_time_{};
    int retries_ = 0;
    int seeds_ = 0;
};

}  // namespace compat::config
