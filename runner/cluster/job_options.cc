#include "runner/cluster/job_options.h"

#include <fmt/format.h>

#include <array>

#include "runner/slurm/client.h"
#include "suites/units.h"

namespace compat::cluster {

namespace {

using config::Setting;

std::string as_it_is(const std::string& text) { return text; }

// sbatch's minutes:seconds.
std::string as_time(const std::string& text) {
    constexpr long kMinute = 60;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(
        suites::parse_duration(text).value_or(std::chrono::milliseconds{}));
    return fmt::format("{}:{:02}", seconds.count() / kMinute, seconds.count() % kMinute);
}

std::string as_memory(const std::string& text) { return slurm::memory_option(text); }

struct OptionRow {
    Setting setting;
    const char* option;
    std::string (*value)(const std::string&);
};
constexpr std::array<OptionRow, 7> kOptions{{
    {Setting::slurm_partition, "--partition", as_it_is},
    {Setting::slurm_account, "--account", as_it_is},
    {Setting::slurm_constraint, "--constraint", as_it_is},
    {Setting::slurm_gres, "--gres", as_it_is},
    {Setting::slurm_time, "--time", as_time},
    {Setting::slurm_mem, "--mem", as_memory},
    {Setting::slurm_cpus, "--cpus-per-task", as_it_is},
}};

}  // namespace

std::vector<std::string> job_options(const config::Settings& settings) {
    std::vector<std::string> options;
    for (const OptionRow& row : kOptions)
        if (const std::string& text = settings.text(row.setting); !text.empty())
            options.push_back(fmt::format("{}={}", row.option, row.value(text)));
    return options;
}

}  // namespace compat::cluster
