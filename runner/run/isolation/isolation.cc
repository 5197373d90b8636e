#include "runner/run/isolation/isolation.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "runner/base/clock.h"
#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/isolation/source_copy.h"
#include "runner/base/text.h"
#include "runner/run/ready.h"

namespace compat::run {

using config::Setting;

namespace {

constexpr const char* kFolder = "isolation";
constexpr const char* kTmpNote = "tmp";  // a file with the path of TMPDIR
constexpr std::string_view kTmpName = "tmp";

// The account's home, and HOME if it differs.
std::vector<fs::path> homes_of_user() {
    std::vector<fs::path> homes;
    const passwd* user = ::getpwuid(::getuid());
    if (user && user->pw_dir) homes.emplace_back(user->pw_dir);
    if (const char* home = std::getenv("HOME"); home && (homes.empty() || homes.front() != home))
        homes.emplace_back(home);
    return homes;
}

// "/a/b" of "/a/b/." and "/a/b/".
fs::path without_slash(const fs::path& path) {
    const fs::path normal = path.lexically_normal();
    return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

// The environment's folder, which has bin/python.
fs::path prefix_of(const fs::path& python) { return python.parent_path().parent_path(); }

// Removes the files that a killed runner left.
void remove_leftovers(const fs::path& folder) {
    const auto note = read_file(FileBelow(folder, kTmpNote));
    const fs::path tmp = note.value_or("");
    // A test may have changed the note.
    if (TemporaryFolder::may_have_made(tmp, kTmpName)) remove_tree(tmp);
    remove_tree(folder);
}

Expected<TemporaryFolder> make_tmp(const fs::path& folder) {
    // Not below the run's folder: sockets in it have paths of 107 bytes at most.
    auto tmp = TRY(TemporaryFolder::create(kTmpName));
    TRY(write_file(folder / kTmpNote, tmp.path().string()));
    return tmp;
}

plan::Variables private_variables(const fs::path& home, const fs::path& tmp) {
    return {{"HOME", home.string()},
            {"TMPDIR", tmp.string()},
            {"XDG_CACHE_HOME", (home / ".cache").string()},
            {"XDG_CONFIG_HOME", (home / ".config").string()},
            {"XDG_DATA_HOME", (home / ".local/share").string()},
            {"XDG_STATE_HOME", (home / ".local/state").string()},
            {"XDG_RUNTIME_DIR", (home / ".run").string()}};
}

Expected<void> make_home(const fs::path& home) {
    return make_directories(home / ".run").map([&] {
        std::error_code error;
        for (const auto& folder : {home, home / ".run"})
            fs::permissions(folder, fs::perms::owner_all, error);
    });
}

void note_idle_options(const config::Settings& settings, const prepare::Say& say) {
    for (const Setting of_sandbox : {Setting::network, Setting::tmp_size}) {
        const config::Value& value = settings[of_sandbox];
        if (value.source == config::Source::flag && value.text != "off")
            say(fmt::format("{} has no effect: only a sandbox needs it (--isolate sandbox)",
                            value.origin));
    }
}

fs::path cache_of(const Ready& ready) { return fs::absolute(ready.settings.text(Setting::cache)); }

SandboxPlan sandbox_plan(const Ready& ready, const SourceCopy& source, const fs::path& home,
                         const fs::path& folder, const fs::path& attempts) {
    const auto& child = ready.child;
    SandboxPlan plan;
    std::error_code error;
    plan.visible = {program_path().parent_path().parent_path(),
                    ready.share.harness.parent_path(),
                    fs::canonical(ready.share.harness, error),
                    fs::canonical(child.harness, error).parent_path(),
                    fs::canonical(ready.share.hub, error),
                    prefix_of(child.python),
                    prefix_of(fs::canonical(child.python, error)),
                    cache_of(ready),
                    source.from,
                    folder};
    if (!child.shim_library.empty()) plan.visible.push_back(child.shim_library.parent_path());
    std::erase_if(plan.visible, [&](const auto& path) { return !fs::exists(path, error); });
    plan.source = {source.to, source.from};
    for (const auto& link : source.links)
        if (fs::exists(link, error)) plan.in_source.push_back(link);
    plan.home = {home, kSandboxHome};
    plan.attempts = attempts;
    plan.homes = homes_of_user();
    plan.network = ready.settings.on(Setting::network);
    plan.tmp_bytes = ready.settings.bytes(Setting::tmp_size);
    return plan;
}

}  // namespace

Expected<void> Isolation::copy_source_of(const Ready& ready, const prepare::Say& say) {
    const SystemClock clock;
    const SteadyTime since = clock.steady();
    const std::string& how = ready.settings.text(Setting::isolation);
    const fs::path root = without_slash(ready.child.root);
    source_.from = root;
    source_.is_mounted = how == "sandbox";
    source_.to = folder_ / kSourceCopies / root.relative_path();
    const fs::path results = fs::absolute(ready.settings.text(Setting::results));
    for (const fs::path& other : {without_slash(results), without_slash(cache_of(ready)),
                                  without_slash(prefix_of(ready.child.python))})
        if (other != root && is_inside(other, root)) source_.links.push_back(other);
    TRY(copy_source(source_));
    const std::chrono::duration<double> took = clock.steady() - since;
    say(fmt::format("isolation {}: copied {} of the source ({}{}) in {}", how,
                    counted(source_.files, "file"),
                    format_size(static_cast<std::uint64_t>(source_.bytes)),
                    source_.shared > 0 ? ", shared with it" : "", format_duration(took)));
    return {};
}

Expected<void> Isolation::enter_tree(plan::ChildSettings& child, const fs::path& home) {
    auto tmp = TRY(make_tmp(folder_));
    child.root = source_.to;
    child.private_variables = private_variables(home, tmp.path());
    tmp_.emplace(std::move(tmp));
    return {};
}

Expected<void> Isolation::enter_sandbox(plan::ChildSettings& child, SandboxPlan plan) {
    plan_ = std::move(plan);
    sandbox_ = TRY(make_sandbox(plan_));
    child.inherited = variables_for_sandbox(child.inherited, plan_.network);
    child.private_variables = private_variables(kSandboxHome, kSandboxTmp);
    if (!plan_.network) child.private_variables.emplace_back("COMPAT_NO_NETWORK", "1");
    return {};
}

Expected<void> Isolation::reach_hub(const fs::path& home, std::optional<exec::SandboxPort> port) {
    plan_.writable.push_back(home);
    plan_.port = std::move(port);
    sandbox_ = TRY(make_sandbox(plan_));
    return {};
}

Expected<std::shared_ptr<const exec::Sandbox>> Isolation::sandbox_of_helper(
    const fs::path& folder) const {
    SandboxPlan plan = plan_;
    plan.attempts.clear();
    plan.source = {};  // it sees the original
    plan.in_source.clear();
    plan.home = {folder / "home", kSandboxHome};
    plan.writable = {folder};
    plan.network = false;
    plan.port.reset();
    TRY(make_home(plan.home.first));
    return make_sandbox(plan);
}

Expected<void> Isolation::begin(Ready& ready, const fs::path& folder, const fs::path& attempts,
                                const prepare::Say& say) {
    const std::string& how = ready.settings.text(Setting::isolation);
    if (ready.isolation) return {};
    if (how != "sandbox") note_idle_options(ready.settings, say);
    if (how == "off") return {};
    std::shared_ptr<Isolation> made(new Isolation);
    made->folder_ = folder / kFolder;
    remove_leftovers(made->folder_);
    const fs::path home = made->folder_ / "home";
    return make_home(home)
        .and_then([&] { return make_directories(attempts); })
        .and_then([&] { return made->copy_source_of(ready, say); })
        .and_then([&] {
            if (how == "tree") return made->enter_tree(ready.child, home);
            return made->enter_sandbox(ready.child,
                                       sandbox_plan(ready, made->source_, home, folder, attempts));
        })
        .map([&] { ready.isolation = std::move(made); });
}

Isolation::~Isolation() {
    if (tmp_) remove_tree(tmp_->path());
    if (!folder_.empty()) remove_tree(folder_);
}

void Isolation::add_left(const exec::LeftFiles& left) {
    WrittenFiles more{"tmp"};
    for (const auto& file : left.files) more.add({file.path, "new", file.bytes});
    more.count = left.count;
    more.bytes = left.bytes;
    std::vector<WrittenFiles> sum{std::move(left_)};
    add_writes(sum, {more});
    left_ = std::move(sum.front());
}

std::vector<WrittenFiles> Isolation::writes() const {
    std::vector<WrittenFiles> all{writes_to(source_), files_below(folder_ / "home", "home"),
                                  tmp_ ? files_below(tmp_->path(), "tmp") : left_};
    std::erase_if(all, [](const auto& files) { return files.count == 0; });
    return all;
}

bool has_network(const Ready& ready) {
    return ready.settings.text(Setting::isolation) != "sandbox" ||
           ready.settings.on(Setting::network);
}

parsers::Isolation isolation_of(const Ready& ready) {
    return {ready.settings.text(Setting::isolation) == "sandbox", has_network(ready)};
}

}  // namespace compat::run
