#include "runner/run/hub/run_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "runner/base/files.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/exec/sandbox.h"
#include "runner/hub/server/journal.h"
#include "runner/run/isolation/isolation.h"
#include "suites/hub_names.h"

namespace compat::run {

using config::Setting;

namespace {

constexpr const char* kLockFile = "hub.lock.json";
constexpr const char* kLogFile = "hub.jsonl";
constexpr const char* kEndpointVariable = "HF_ENDPOINT";

hub::Mode mode_of(const config::Settings& settings) {
    return hub::mode_named(settings.text(Setting::hub)).value_or(hub::Mode::off);
}

// The real one, or the user's own mirror.
std::string upstream() {
    const char* own = std::getenv(kEndpointVariable);
    return own && *own ? own : hub::Settings{}.upstream;
}

Expected<void> make_new_folder(const fs::path& folder) {
    remove_tree(folder);  // of a runner that was killed
    return make_directories(folder);
}

// No hub answers there.
constexpr const char* kNoHub = "http://127.0.0.1:9";

// A generator runs the suite's packages, and no test: without the shim, on the CPU, and with
// neither a hub, nor tokens, nor caches of real models.
plan::Variables variables_of_generator(const Ready& ready, const fs::path& folder) {
    plan::ChildSettings settings = ready.child;
    settings.hub = {kNoHub, folder / "hf-home", {}, false};
    settings.shim_library.clear();
    settings.simulate.clear();
    settings.on_cpu = true;
    settings.threads = 1;
    settings.root = ready.prepared.source.root;
    std::map<std::string, std::string> variables;
    for (auto& [name, value] : plan::child_variables(ready.suite, settings))
        variables[name] = std::move(value);
    variables["OMP_NUM_THREADS"] = "1";
    variables.erase("COMPAT_HUB_ENDPOINT");
    for (const char* offline : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"})
        variables[offline] = "1";
    return {variables.begin(), variables.end()};
}

// The suite's hub.names.json; empty: it has none.
Expected<std::string> names_stated_by(const suites::Suite& suite) {
    const fs::path file = suite.folder / suites::kHubNamesFile;
    std::error_code error;
    if (!fs::exists(file, error)) return std::string();
    return suites::parse_hub_names(TRY(read_file(file)), file);
}

// "org/name" of {"org/name", "it is gated"}.
HubName named(const hub::Named& name) { return {name.name, name.why}; }

HubUse use_of(const hub::Summary& summary) {
    HubUse use;
    use.requests = static_cast<std::int64_t>(summary.requests);
    use.bytes_fetched = static_cast<std::int64_t>(summary.bytes_fetched);
    use.served = std::ssize(summary.served);
    use.generated = std::ssize(summary.generated);
    use.missing = std::ssize(summary.missing);
    const auto take = [](const auto& names, auto& into, auto as) {
        for (std::size_t i = 0; i < std::min(names.size(), kNamedOfHub); ++i)
            into.push_back(as(names[i]));
    };
    take(summary.generated, use.generated_names, [](const std::string& name) { return name; });
    take(summary.missing, use.missing_names, named);
    take(summary.problems, use.problems, named);
    return use;
}

}  // namespace

Expected<void> check_hub_settings(const config::Settings& settings, const suites::Suite& suite) {
    if (mode_of(settings) == hub::Mode::generate) TRY(names_stated_by(suite));
    const config::Value& hub = settings[Setting::hub];
    const bool has_network =
        settings.text(Setting::isolation) != "sandbox" || settings.on(Setting::network);
    if (mode_of(settings) != hub::Mode::record || has_network) return {};
    return fail(
        ErrorKind::usage, "recording needs a network, and the tests run in a sandbox without one",
        "add --network, or record with --isolate tree; `--hub replay` then needs none", hub.origin);
}

fs::path hub_lock_of(const config::Settings& settings, const suites::Suite& suite) {
    const config::Value& named = settings[Setting::hub_lock];
    const fs::path lock = named.source == config::Source::suite ? suite.folder / named.text
                          : !named.text.empty()                 ? fs::path(named.text)
                          : suite.by_convention
                              ? fs::path(settings.text(Setting::results)) / kLockFile
                              : suite.folder / kLockFile;
    return fs::absolute(lock).lexically_normal();
}

std::optional<HubUse> hub_use_so_far(const fs::path& run_folder) {
    const auto summary = hub::read_journal(FileBelow(run_folder, kLogFile));
    return summary ? std::optional(use_of(*summary)) : std::nullopt;
}

RunHub::RunHub(fs::path folder)
    : home_(folder / "hub-home"), made_(folder / "hub-made"), log_(folder / kLogFile) {}

RunHub::~RunHub() {
    static_cast<void>(finish());
    remove_tree(home_);
    remove_tree(made_);
}

Expected<fs::path> RunHub::stated_names(const suites::Suite& suite) const {
    const std::string names = TRY(names_stated_by(suite));
    if (names.empty()) return fs::path();
    fs::path copy = made_ / suites::kHubNamesFile;
    return write_file(copy, names).map([&] { return std::move(copy); });
}

Expected<hub::Program> RunHub::generator(const Ready& ready) const {
    hub::Program program;
    program.folder = made_;
    program.variables = variables_of_generator(ready, made_);
    program.argv = {ready.child.python, ready.share.hub / "generate", "--out", made_,
                    "--source",         ready.prepared.source.root};
    if (const fs::path names = TRY(stated_names(ready.suite)); !names.empty())
        program.argv.insert(program.argv.end(), {"--names", names});
    if (!ready.isolation || !ready.isolation->sandbox()) return program;
    const auto sandbox = TRY(ready.isolation->sandbox_of_helper(made_));
    program.argv = exec::server_in_sandbox(*sandbox, program.argv);
    for (auto& [name, value] : program.variables) name.insert(0, exec::kHeldVariable);
    return program;
}

Expected<void> RunHub::start(Ready& ready, const prepare::Say& say) {
    TRY(make_new_folder(home_));
    TRY(make_new_folder(made_));
    hub::Settings settings;
    settings.mode = mode_of(ready.settings);
    settings.store = fs::absolute(ready.settings.text(Setting::cache)) / "hub";
    settings.lock = hub_lock_of(ready.settings, ready.suite);
    settings.max_bytes = ready.settings.bytes(Setting::hub_max);
    settings.python = ready.child.python;
    settings.fetcher = ready.share.hub / "upstream.py";
    settings.upstream = upstream();
    settings.log = log_;
    std::error_code error;
    const bool has_lock = fs::exists(settings.lock, error);
    if (settings.mode == hub::Mode::replay && !has_lock)
        say(fmt::format("nothing is recorded: there is no {}; --hub record writes it",
                        settings.lock.string()));
    if (settings.mode == hub::Mode::record)
        say(fmt::format("the hub writes what it records to {}", settings.lock.string()));
    if (settings.mode == hub::Mode::generate) settings.generator = TRY(generator(ready));
    hub_ = TRY(hub::Hub::start(std::move(settings)));
    auto& child = ready.child;
    child.hub = {hub_->endpoint(), home_, ready.share.hub / "child" / "activate",
                 mode_of(ready.settings) == hub::Mode::record};
    if (!ready.isolation || !ready.isolation->sandbox()) return {};
    std::optional<exec::SandboxPort> port;
    if (!has_network(ready))
        port = {hub_->port(),
                [hub = hub_](Fd listening) { return hub->listen_also(std::move(listening)); }};
    return ready.isolation->reach_hub(home_, std::move(port));
}

Expected<void> RunHub::begin(Ready& ready, const fs::path& folder, const prepare::Say& say) {
    if (ready.hub || mode_of(ready.settings) == hub::Mode::off) return {};
    std::shared_ptr<RunHub> made(new RunHub(folder));
    return made->start(ready, say).map([&] { ready.hub = std::move(made); });
}

HubUse RunHub::finish() { return hub_ ? use_of(hub_->stop()) : HubUse{}; }

}  // namespace compat::run
