#include "runner/slurm/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>

#include "runner/base/text.h"

namespace compat::slurm {

namespace {

constexpr unsigned kLimit = 60;  // seconds; a busy controller answers within 10
constexpr std::string_view kForgotten = "Invalid job id specified";

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (const auto part : std::views::split(text, separator))
        parts.emplace_back(part.begin(), part.end());
    return parts;
}

// Nothing: it is no number.
std::optional<std::size_t> number_of(std::string_view text) {
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || read != end) return std::nullopt;
    return number;
}

// Variables that change what a command does or prints; the others are the user's defaults.
prepare::Tool tool(std::vector<std::string> argv) {
    prepare::Tool tool;
    tool.argv = std::move(argv);
    tool.limit_s = kLimit;
    tool.unset = {"SBATCH_WAIT",   "SBATCH_ARRAY_INX", "SBATCH_NO_REQUEUE", "SQUEUE_ACCOUNT",
                  "SQUEUE_ARRAY",  "SQUEUE_FORMAT",    "SQUEUE_FORMAT2",    "SQUEUE_LICENSES",
                  "SQUEUE_NAMES",  "SQUEUE_PARTITION", "SQUEUE_QOS",        "SQUEUE_SORT",
                  "SQUEUE_STATES", "SQUEUE_USERS",     "SINFO_FORMAT",      "SINFO_PARTITION",
                  "SINFO_SORT",    "SACCT_FORMAT",     "SLURM_TIME_FORMAT"};
    tool.env = {{"LC_ALL", "C"}};
    return tool;
}

Expected<std::string> output_of(std::vector<std::string> argv) {
    auto output = prepare::output_of(tool(std::move(argv)));
    if (!output && output.error().message.ends_with("is not installed"))
        output.error().advice =
            "run on a host of the cluster; its commands are in Debian's slurm-client";
    return output;
}

}  // namespace

prepare::Tool sbatch_tool(const BatchJob& job) {
    std::vector<std::string> argv{"sbatch",
                                  "--parsable",
                                  fmt::format("--job-name={}", job.name),
                                  fmt::format("--chdir={}", job.folder.string()),
                                  fmt::format("--output={}", job.log.string()),
                                  "--open-mode=append",
                                  "--export=ALL",
                                  job.requeue ? "--requeue" : "--no-requeue"};
    if (job.elements > 0)
        argv.push_back(
            fmt::format("--array=1-{}{}", job.elements,
                        job.in_flight > 0 ? fmt::format("%{}", job.in_flight) : std::string{}));
    argv.insert(argv.end(), job.options.begin(), job.options.end());
    argv.push_back(job.script.string());
    argv.insert(argv.end(), job.arguments.begin(), job.arguments.end());
    // The tool's environment becomes the script's, which must not see our locale.
    prepare::Tool made = tool(std::move(argv));
    made.env.clear();
    return made;
}

Expected<std::string> submit(const BatchJob& job) {
    const auto output = TRY(prepare::output_of(sbatch_tool(job)));
    // "JOB" or "JOB;CLUSTER"; what a site's plugins print comes before.
    const auto lines = split(output, '\n');
    for (const auto line : lines | std::views::reverse) {
        const auto id = trimmed(line.substr(0, line.find(';')));
        if (number_of(id)) return std::string(id);
    }
    return fail(ErrorKind::environment, "sbatch printed no job id",
                fmt::format("look for the job \"{}\" with squeue", job.name));
}

std::vector<Element> parse_queue(std::string_view text) {
    std::vector<Element> elements;
    for (const auto line : split(text, '\n')) {
        const auto fields = split(trimmed(line), '|');
        if (fields.size() < 4) continue;
        elements.push_back({number_of(fields[0]).value_or(0), std::string(fields[1]),
                            std::string(fields[2]), std::string(fields[3])});
    }
    return elements;
}

Expected<std::vector<Element>> queue(const std::string& job) {
    const auto output = output_of({"squeue", "--noheader", "--array", "--states=all",
                                   "--jobs=" + job, "--format=%K|%T|%N|%r"});
    if (output) return parse_queue(*output);
    if (output.error().message.find(kForgotten) != std::string::npos) return std::vector<Element>{};
    return tl::unexpected(output.error());
}

std::vector<Element> parse_accounted(std::string_view text) {
    std::vector<Element> elements;
    for (const auto line : split(text, '\n')) {
        const auto fields = split(trimmed(line), '|');
        if (fields.size() < 3) continue;
        const size_t underscore = fields[0].find('_');
        // Elements that never started share a row, "5_[3-5%2]".
        const auto index = underscore == fields[0].npos
                               ? std::optional<std::size_t>(0)
                               : number_of(fields[0].substr(underscore + 1));
        if (!index) continue;
        elements.push_back({*index, std::string(fields[1]),
                            fields[2] == "None assigned" ? "" : std::string(fields[2]), ""});
    }
    return elements;
}

Expected<std::vector<Element>> accounted(const std::string& job) {
    return output_of({"sacct", "--noheader", "--parsable2", "--allocations", "--duplicates",
                      "--jobs=" + job, "--format=JobID,State,NodeList"})
        .map([](const std::string& text) { return parse_accounted(text); });
}

Cluster parse_cluster(std::string_view text) {
    Cluster cluster;
    for (const auto line : split(text, '\n')) {
        const size_t equals = line.find('=');
        if (equals == line.npos) continue;
        const auto key = trimmed(line.substr(0, equals));
        const auto value = trimmed(line.substr(equals + 1));
        if (key == "SLURM_VERSION") cluster.version = value;
        if (key == "MaxArraySize") cluster.max_array_size = number_of(value).value_or(0);
        if (key == "AccountingStorageType")
            cluster.accounting = value == "accounting_storage/slurmdbd";
    }
    return cluster;
}

Expected<Cluster> cluster() {
    return output_of({"scontrol", "show", "config"}).map([](const std::string& text) {
        return parse_cluster(text);
    });
}

Expected<void> cancel(const std::string& job) {
    return output_of({"scancel", job}).map([](const std::string&) {});
}

std::string memory_option(std::string_view size) {
    const size_t unit = size.find_first_not_of("0123456789");
    if (unit != size.npos) return fmt::format("{}{:c}", size.substr(0, unit), size[unit] & ~0x20);
    constexpr std::size_t kKibi = 1024;
    return fmt::format("{}K", (number_of(size).value_or(0) + kKibi - 1) / kKibi);
}

}  // namespace compat::slurm
