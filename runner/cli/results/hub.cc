// `runner hub list | fetch | verify | prune | explain`: recorded and generated models and datasets.
#include "runner/hub/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/clock.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/line_reader.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/display/output.h"
#include "runner/hub/store/lock.h"
#include "runner/hub/store/maintain.h"
#include "runner/prepare/program.h"
#include "runner/prepare/share.h"

namespace compat::cli {

namespace {

constexpr const char* kLockName = "hub.lock.json";
constexpr std::int64_t kUnusedDays = 30;

struct HubRequest {
    std::string lock = kLockName;
    std::vector<std::string> locks;  // prune
    std::string name;                // fetch: with "@REV"; explain
    std::vector<std::string> files;
    std::string kind = "model";
    bool dry_run = false;
};

fs::path store_of(const config::Invocation& invocation) {
    return fs::absolute(config::text_before_suite(invocation, Setting::cache)) / "hub";
}

Expected<ExitCode> list_hub(const HubRequest& request, const config::Invocation& invocation) {
    const auto catalog = TRY(hub::read_lock(request.lock));
    const auto blobs = TRY(hub::Blobs::open(store_of(invocation)));
    for (const hub::Repository& one : catalog.repositories()) {
        std::uint64_t bytes = 0;
        long kept = 0, lacking = 0;
        for (const auto& [path, file] : one.files) {
            if (!file.is_kept) continue;
            ++kept;
            bytes += file.size;
            if (!blobs->has(file.sha256, file.size)) ++lacking;
        }
        print("{:<48}  {:<12}  {}\n", printable(hub::title_of(one.kind, one.name)),
              printable(one.revisions.empty() ? one.commit.substr(0, 12) : *one.revisions.begin()),
              one.is_absent()
                  ? fmt::format("absent ({})", one.status)
                  : fmt::format("{} of {} files, {}{}", kept, one.files.size(), format_size(bytes),
                                lacking > 0 ? fmt::format("; the store lacks {}", lacking) : ""));
    }
    for (const auto& [url, address] : catalog.addresses())
        print("{}  {}\n", printable(url),
              address.status == 200 ? format_size(address.size)
                                    : fmt::format("absent ({})", address.status));
    return ExitCode::ok;
}

Expected<ExitCode> fetch_for_hub(const HubRequest& request, const config::Invocation& invocation) {
    const std::size_t at = std::min(request.name.find('@'), request.name.size());
    hub::Wanted wanted;
    wanted.kind = hub::kind_named(request.kind).value_or(hub::Kind::model);
    wanted.name = request.name.substr(0, at);
    if (at < request.name.size()) wanted.revision = request.name.substr(at + 1);
    if (!hub::is_repository_name(wanted.name) || !hub::is_revision(wanted.revision))
        return fail(ErrorKind::usage, "this is no name of a repository: " + request.name,
                    "write ORG/NAME or ORG/NAME@REVISION");
    wanted.files = request.files;
    if (const char* token = std::getenv("HF_TOKEN"); token && *token)
        wanted.authorization = fmt::format("Bearer {}", token);
    hub::Settings settings;
    settings.mode = hub::Mode::record;
    settings.store = store_of(invocation);
    settings.lock = fs::absolute(request.lock);
    const char* path = std::getenv("PATH");
    settings.python = TRY(prepare::find_command("python3", path ? path : ""));
    settings.fetcher = TRY(prepare::find_share()).hub / "upstream.py";
    if (const char* endpoint = std::getenv("HF_ENDPOINT"); endpoint && *endpoint)
        settings.upstream = endpoint;
    const auto fetched = TRY(hub::fetch(settings, wanted));
    for (const hub::Named& one : fetched.failed)
        print(stderr, "{}: {}\n", printable(one.name), printable(one.why));
    print("{} in the store, {} fetched\n", counted(static_cast<long>(fetched.files), "file"),
          format_size(fetched.bytes));
    return fetched.failed.empty() ? ExitCode::ok : ExitCode::infrastructure;
}

Expected<ExitCode> verify_hub(const HubRequest& request, const config::Invocation& invocation) {
    const auto catalog = TRY(hub::read_lock(request.lock));
    const auto blobs = TRY(hub::Blobs::open(store_of(invocation)));
    const auto damage = hub::find_damage(*blobs, catalog);
    for (const hub::Named& one : damage) print("{}: {}\n", printable(one.name), printable(one.why));
    print("{} lacking or damaged\n", counted(static_cast<long>(damage.size()), "file"));
    return damage.empty() ? ExitCode::ok : ExitCode::infrastructure;
}

Expected<ExitCode> prune_hub(const HubRequest& request, const config::Invocation& invocation) {
    std::vector<hub::Catalog> catalogs;
    for (const std::string& lock : request.locks) catalogs.push_back(TRY(hub::read_lock(lock)));
    const fs::path store = store_of(invocation);
    const auto before =
        std::chrono::floor<std::chrono::seconds>(SystemClock().wall()).time_since_epoch() -
        std::chrono::hours(24) * kUnusedDays;
    const auto unnamed = hub::find_unnamed(store, catalogs, before.count());
    std::uint64_t bytes = 0;
    for (const hub::Unnamed& one : unnamed) {
        bytes += one.bytes;
        if (request.dry_run) print("would delete {}\n", printable(one.name));
    }
    if (!request.dry_run) hub::remove_unnamed(store, unnamed);
    print("{}{}, {}\n", request.dry_run ? "would delete " : "deleted ",
          counted(static_cast<long>(unnamed.size()), "file"), format_size(bytes));
    return ExitCode::ok;
}

// A line of a hub.jsonl that is about the name.
struct Use {
    std::string how, test, made_from, why, revision, file;
    friend auto operator<=>(const Use&, const Use&) = default;
};

std::string text_of(const nlohmann::json& line, const char* key) {
    const auto at = line.find(key);
    return at != line.end() && at->is_string() ? printable(at->get<std::string>()) : std::string();
}

void read_uses(const fs::path& folder, const std::string& file, const std::string& name,
               std::map<Use, long>& uses) {
    LineReader reader(FileBelow(folder, file));
    const auto visit = [&](const Line& text) {
        if (json_nests_deeper(text.text)) return;
        const auto line = nlohmann::json::parse(text.text, nullptr, false);
        if (!line.is_object()) return;
        // Children write "models/org/name" for a repository.
        const std::string repository = text_of(line, "repository");
        if (text_of(line, "name") != name &&
            repository.substr(std::min(repository.find('/') + 1, repository.size())) != name)
            return;
        ++uses[{text_of(line, "how"), text_of(line, "test"), text_of(line, "class"),
                text_of(line, "why"), text_of(line, "revision"), text_of(line, "file")}];
    };
    while (reader.read(visit).value_or(false)) continue;
    reader.finish(visit);
}

Expected<ExitCode> explain_hub(const HubRequest& request, const config::Invocation& invocation) {
    const fs::path runs = TRY(config::results_folder(invocation)) / "runs";
    bool is_known = false;
    std::error_code error;
    std::vector<fs::path> folders;
    for (const auto& run : fs::directory_iterator(runs, error)) folders.push_back(run.path());
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
        std::map<Use, long> uses;
        walk_files(folder, WalkLimits{}, [&](const FoundFile& file) {
            if (file.path.ends_with("hub.jsonl") && S_ISREG(file.status.st_mode))
                read_uses(folder, file.path, request.name, uses);
        });
        if (uses.empty()) continue;
        is_known = true;
        print("{}\n", printable(folder.filename().string()));
        for (const auto& [use, count] : uses) {
            if (!use.test.empty()) {
                print("  used by {}\n", use.test);
                continue;
            }
            print("  {:<9}  {}{}{}{}\n", use.how, use.revision,
                  use.file.empty() ? "" : " " + use.file,
                  use.made_from.empty() ? "" : "  from " + use.made_from,
                  use.why.empty() ? "" : "  (" + use.why + ")");
        }
    }
    if (!is_known)
        return fail(ErrorKind::usage, fmt::format("no stored run asked for {}", request.name),
                    "write its whole name, as in ORG/NAME or https://HOST/PATH");
    return ExitCode::ok;
}

Action add_hub(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<HubRequest>();
    HubRequest& hub = *request;
    app.require_subcommand(1);
    using Function = Expected<ExitCode> (*)(const HubRequest&, const config::Invocation&);
    auto chosen = std::make_shared<Function>(nullptr);
    const auto action = [&](const char* name, const char* help, Function function,
                            std::vector<Setting> settings) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->group("Commands");
        sub->callback([chosen, function] { *chosen = function; });
        add_settings(*sub, settings, invocation.flags);
        return sub;
    };
    const auto add_lock = [&](CLI::App* sub) {
        sub->add_option("--lock", hub.lock, "lock file to read")
            ->type_name("FILE")
            ->capture_default_str();
    };
    add_lock(
        action("list", "list what a lock names and the store has", list_hub, {Setting::cache}));
    auto* fetch = action("fetch", "fetch a repository's files and add them to a lock",
                         fetch_for_hub, {Setting::cache});
    add_lock(fetch);
    fetch->add_option("NAME", hub.name, "ORG/NAME or ORG/NAME@REVISION")->required();
    fetch->add_option("FILE", hub.files, "files of it [all]");
    fetch->add_option("--kind", hub.kind, "model, dataset or space")
        ->type_name("KIND")
        ->check(one_of(std::vector<std::string>{"model", "dataset", "space"}))
        ->capture_default_str();
    fetch->footer(
        "HF_TOKEN is sent to the hub, for gated repositories.\n"
        "Example:\n  runner hub fetch --kind dataset rajpurkar/squad@main");
    add_lock(action("verify", "check the content of all files that a lock names", verify_hub,
                    {Setting::cache}));
    auto* prune = action("prune", "delete content that no lock names", prune_hub, {Setting::cache});
    prune->add_option("LOCK", hub.locks, "all locks that are in use")->required();
    prune->add_flag("--dry-run", hub.dry_run, "list what would be deleted");
    prune->footer(
        "Generated content stays for 30 days, and content of the last day stays.\n"
        "Example:\n  runner hub prune --dry-run suites/*/hub.lock.json");
    auto* explain = action("explain",
                           "show which runs and tests asked for a name, and how it was "
                           "answered",
                           explain_hub, {Setting::results});
    explain->add_option("NAME", hub.name, "repository or address")->required();
    return exits_with_code(
        [request, chosen, &invocation] { return (*chosen)(*request, invocation); });
}

}  // namespace

Command hub_command() {
    return {"list, fetch and check models and datasets for tests", {}, {}, add_hub};
}

}  // namespace compat::cli
