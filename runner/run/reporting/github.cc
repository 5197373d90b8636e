#include "runner/run/reporting/github.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "runner/analysis/attempts.h"
#include "runner/analysis/expectations/judge.h"
#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/display/output.h"
#include "runner/store/comparable.h"

namespace compat::run {

using reports::Format;

namespace {

const char* summary_file() {
    const char* const file = std::getenv("GITHUB_STEP_SUMMARY");
    return file != nullptr && *file != '\0' ? file : nullptr;
}

// The tests that failed an earlier run, by what that run expected. Renderers ask module by module.
class EarlierRun {
  public:
    EarlierRun(const store::Store& store, const store::RunInfo& info)
        : store_(store), run_(info.id), expectations_(analysis::expectations_of(info)) {}

    bool failed(const std::string& module, const std::string& test) {
        if (module != module_) read(module);
        return failed_.contains(test);
    }

  private:
    void read(const std::string& module) {
        module_ = module;
        failed_.clear();
        // Where it cannot be read, all failures are new.
        (void)store_.each_module(
            run_,
            [&](store::StoredModule stored) -> Expected<void> {
                if (stored.attempts.empty()) return {};
                const auto record = analysis::take_verdicts(stored.attempts).record;
                for (const auto& test : record.cases)
                    if (test.state != parsers::State::not_run &&
                        expectations_.judge(test, record.framework).fit !=
                            analysis::Fit::as_expected)
                        failed_.insert(test.id);
                return {};
            },
            module);
    }

    const store::Store& store_;
    std::string run_;
    analysis::Expectations expectations_;
    std::string module_;            // whose tests are in failed_
    std::set<std::string> failed_;  // ids
};

// Where the suite is in the checkout that the job works on.
std::optional<std::string> prefix_of(const std::string& root) {
    const char* const workspace = std::getenv("GITHUB_WORKSPACE");
    if (workspace == nullptr || *workspace == '\0') return "";
    std::error_code error;
    const fs::path below = fs::relative(root, workspace, error);
    if (error || below.empty() || *below.begin() == "..") return std::nullopt;
    return below == "." ? "" : below.generic_string() + "/";
}

}  // namespace

Expected<reports::GithubOptions> github_options(const store::Store& store,
                                                const store::RunInfo& info) {
    reports::GithubOptions options;
    options.prefix = prefix_of(info.root);
    const auto runs = TRY(store.runs());
    const auto own =
        std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.id == info.id; });
    if (own == runs.end()) return options;
    std::vector<store::RunSummary> past;  // newest first
    std::copy_if(own + 1, runs.end(), std::back_inserter(past), [&](const store::RunSummary& run) {
        return run.end && run.end->complete &&
               store::comparable_key(run) == store::comparable_key(info);
    });
    const auto before = store::baseline_among(past, info);
    if (before == past.end()) return options;
    const auto run = TRY(store.load_run(before->id));
    options.run_before = before->id;
    options.failed_before = [earlier = std::make_shared<EarlierRun>(store, run.info)](
                                const std::string& module, const std::string& test) {
        return earlier->failed(module, test);
    };
    return options;
}

std::size_t github_summary_room() {
    const char* const file = summary_file();
    std::error_code error;
    const auto used = file != nullptr ? fs::file_size(file, error) : 0;
    // A summary that is full still gets the headline.
    constexpr std::size_t kLeast = 4096;
    if (error || used + kLeast > reports::kGithubSummaryBytes)
        return error ? reports::kGithubSummaryBytes : kLeast;
    return reports::kGithubSummaryBytes - used - 2;  // newlines around it
}

Expected<void> publish_to_github(const std::vector<reports::RenderedFile>& files) {
    for (const auto& [format, path] : files) {
        const bool is_summary = format == Format::github_summary;
        if (!is_summary && format != Format::github_annotations) continue;
        const auto text = TRY(read_file(path));
        if (!is_summary)
            display::put(display::people(), text);
        else if (const char* const file = summary_file(); file != nullptr && !text.empty())
            TRY(append_line(FileBelow::followed(file), text));
    }
    return {};
}

}  // namespace compat::run
