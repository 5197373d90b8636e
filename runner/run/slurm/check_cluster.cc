#include "runner/run/slurm/check_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <array>
#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "runner/archive/run_folder.h"
#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/prepare/share.h"
#include "runner/run/slurm/job_options.h"
#include "runner/slurm/client.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;

namespace {

constexpr std::size_t kMostNodes = 64;
constexpr std::chrono::seconds kPatience{60};

struct CheckRow {
    const char* name;  // as node_check.sh writes it
    const char* what;
    const char* advice;
};
constexpr std::array<CheckRow, 5> kChecks{{
    {"folder", "the results folder is seen",
     "name a folder on a shared file system with --results"},
    {"flock", "flock works across hosts",
     "mount the file system so that locks reach other hosts (NFS: no local_lock)"},
    {"rename", "files are written and renamed",
     "let the user write there from the nodes (NFS: root_squash, quota)"},
    {"runner", "the runner starts", "install it on the shared file system, for the nodes' system"},
    {"python", "the environment's Python starts",
     "set COMPAT_CACHE or --python to a folder on the shared file system"},
}};

// Removes the folder of the checks.
struct Removed {
    fs::path folder;
    ~Removed() {
        std::error_code error;
        fs::remove_all(folder, error);
    }
};

// check -> "ok" or why not
using Answer = std::map<std::string, std::string>;

Answer read_answer(const std::string& text) {
    Answer answer;
    std::istringstream lines(text);
    for (std::string name, rest; lines >> name && std::getline(lines >> std::ws, rest);)
        answer[name] = rest;
    return answer;
}

std::string list(const std::vector<std::string>& nodes) {
    constexpr std::size_t kShown = 5;
    if (nodes.size() <= kShown) return fmt::format("{}", fmt::join(nodes, ", "));
    return fmt::format("{} and {} more", fmt::join(nodes.begin(), nodes.begin() + kShown, ", "),
                       nodes.size() - kShown);
}

// Each node's job, and what it answered.
class NodeChecks {
  public:
    NodeChecks(fs::path folder, std::vector<std::string> options, fs::path script,
               std::string python)
        : folder_(std::move(folder)),
          options_(std::move(options)),
          script_(std::move(script)),
          python_(std::move(python)) {}

    Expected<void> start(const std::string& node) {
        slurm::BatchJob job;
        job.name = "runner-doctor";
        job.options = options_;
        job.options.insert(job.options.end(), {"--nodelist=" + node, "--time=2"});
        job.script = script_;
        job.arguments = {program_path().string(), folder_.string(), python_};
        // A node that does not see the folder cannot write there, and its job fails.
        job.log = "/dev/null";
        job.folder = "/";
        return slurm::submit(job).map([&](const std::string& id) { jobs_[node] = id; });
    }

    void wait() {
        const auto until = std::chrono::steady_clock::now() + kPatience;
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds{500});
            for (const auto& [node, id] : jobs_) look(node, id);
        } while (answers_.size() + failed_.size() < jobs_.size() &&
                 std::chrono::steady_clock::now() < until);
        for (const auto& [node, id] : jobs_)
            if (!answers_.contains(node) && !failed_.contains(node))
                static_cast<void>(slurm::cancel(id));
    }

    void report(const OnCheck& on_check) const {
        for (const CheckRow& row : kChecks) {
            std::vector<std::string> good, bad;
            std::string why;
            for (const auto& [node, answer] : answers_) {
                const auto at = answer.find(row.name);
                if (at == answer.end()) continue;
                (at->second == "ok" ? good : bad).push_back(node);
                if (at->second != "ok") why = at->second;
            }
            if (std::string_view(row.name) == "folder")
                for (const auto& [node, state] : failed_) {
                    bad.push_back(node);
                    why = fmt::format("the job ended {} and left no answer there", state);
                }
            if (!good.empty()) on_check(true, fmt::format("{} on {}", row.what, list(good)), {});
            if (!bad.empty())
                on_check(false, fmt::format("{} on {}", row.what, list(bad)),
                         fmt::format("{}; {}", why, row.advice));
        }
        std::vector<std::string> silent;
        for (const auto& [node, id] : jobs_)
            if (!answers_.contains(node) && !failed_.contains(node)) silent.push_back(node);
        if (!silent.empty())
            on_check(true,
                     fmt::format("not checked, since a job did not start in {} s: {}",
                                 kPatience.count(), list(silent)),
                     {});
    }

  private:
    void look(const std::string& node, const std::string& id) {
        if (answers_.contains(node) || failed_.contains(node)) return;
        if (auto text = read_file(folder_ / (node + ".answer"))) {
            Answer answer = read_answer(*text);
            std::error_code error;
            if (answer["rename"] == "ok" && !fs::exists(folder_ / (node + ".renamed"), error))
                answer["rename"] = "this host does not see what the node renamed";
            answers_[node] = std::move(answer);
            return;
        }
        const auto seen = slurm::queue(id);
        if (!seen || seen->empty()) return;
        const std::string& state = seen->front().state;
        if (state == "FAILED" || state == "NODE_FAIL" || state == "CANCELLED")
            failed_[node] = state;
        // Its answer may come later than its end; the wait has a limit.
        if (state == "COMPLETED" && ++ended_[node] > 4) failed_[node] = state;
    }

    fs::path folder_;
    std::vector<std::string> options_;
    fs::path script_;
    std::string python_;
    std::map<std::string, std::string> jobs_;    // node -> job
    std::map<std::string, Answer> answers_;      // by node
    std::map<std::string, std::string> failed_;  // node -> state
    std::map<std::string, int> ended_;           // how often it was seen without an answer
};

Expected<void> check_nodes(const config::Settings& settings, const fs::path& python,
                           const std::vector<std::string>& nodes, const OnCheck& on_check) {
    const auto share = prepare::find_share();
    if (!share) return tl::unexpected(share.error());
    const fs::path folder = fs::absolute(settings.text(Setting::results)) /
                            make_run_id("doctor", SystemClock().wall(), std::random_device{}());
    if (auto made = make_directories(folder); !made) return made;
    const Removed removed{folder};
    if (auto written = write_file(folder / "seen", "yes\n"); !written) return written;
    const int fd = ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const archive::FileLock lock(fd);
    on_check(fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0, "flock works in the results folder",
             "use a file system with locks");

    auto options = job_options(settings);
    std::erase_if(options, [](const std::string& option) {
        // A check needs none of it.
        return option.starts_with("--time=") || option.starts_with("--mem=") ||
               option.starts_with("--cpus-per-task=");
    });
    constexpr const char* kMemory = "--mem=200M";
    options.emplace_back(kMemory);
    NodeChecks checks(folder, std::move(options), share->slurm / "node_check.sh", python.string());
    for (const auto& node : nodes)
        if (auto started = checks.start(node); !started) return started;
    checks.wait();
    checks.report(on_check);
    return {};
}

}  // namespace

void check_cluster(const config::Settings& settings, const fs::path& python,
                   const OnCheck& on_check) {
    const auto refuse = [&](const Error& error) { on_check(false, error.message, error.advice); };
    const auto cluster = slurm::cluster();
    if (!cluster) return refuse(cluster.error());
    on_check(true,
             fmt::format("Slurm {}, {}; arrays of {} at most", cluster->version,
                         cluster->accounting ? "with accounting"
                                             : "without accounting (reasons are read while Slurm "
                                               "remembers a job)",
                         cluster->max_array_size > 0 ? cluster->max_array_size - 1 : 0),
             {});
    const auto nodes = slurm::nodes(settings.text(Setting::slurm_partition));
    if (!nodes) return refuse(nodes.error());
    std::vector<std::string> usable, others;
    for (const auto& node : *nodes) (node.usable() ? usable : others).push_back(node.name);
    on_check(!usable.empty(),
             fmt::format("{} in the partition can run jobs",
                         counted(static_cast<long>(usable.size()), "node")),
             "`sinfo -R` says why nodes are down or drained");
    if (!others.empty())
        on_check(true, fmt::format("not checked, down or drained: {}", list(others)), {});
    if (usable.size() > kMostNodes) {
        on_check(true, fmt::format("the first {} of them are checked", kMostNodes), {});
        usable.resize(kMostNodes);
    }
    if (python.empty())
        on_check(true, "not checked: the environment's Python, since none is made yet or named",
                 {});
    if (usable.empty()) return;
    if (auto checked = check_nodes(settings, python, usable, on_check); !checked)
        refuse(checked.error());
}

}  // namespace compat::run
