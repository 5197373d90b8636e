#include "runner/hub/hub.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <variant>

#include "runner/base/files.h"
#include "runner/base/secrets.h"
#include "runner/http/file_response.h"
#include "runner/hub/server/answers.h"
#include "runner/hub/server/journal.h"
#include "runner/hub/server/routes.h"
#include "runner/hub/source/fetcher.h"
#include "runner/hub/source/generator.h"
#include "runner/hub/store/blobs.h"
#include "runner/hub/store/checker.h"
#include "runner/hub/store/known.h"

namespace compat::hub {

namespace {

constexpr std::array<std::pair<Mode, std::string_view>, 4> kModes{{
    {Mode::off, "off"},
    {Mode::replay, "replay"},
    {Mode::record, "record"},
    {Mode::generate, "generate"},
}};

constexpr std::uint64_t kBodyBytes = 1 << 20;
constexpr std::size_t kConnections = 256;  // few enough that no limit of the process is raised
// All that a source gave or refused stays in memory until the end of the run.
constexpr std::size_t kMostNeeds = 50'000;

http::Response redirect_to(const std::string& location) {
    http::Response response = refused({307, "", "Temporary Redirect. Redirecting to " + location});
    response.headers.emplace_back("Location", location);
    return response;
}

// For the hook in the child, which notes it for the test (runner/hub/child).
void mark_missing(http::Response& response) {
    response.headers.emplace_back("X-Compat-Missing", "1");
}

// The hub answers one client otherwise than another that has no token. A secret.
std::string shared_key(const Need& need) { return need.key() + "\n" + need.authorization; }

}  // namespace

std::string_view name_of(Mode mode) { return kModes.at(static_cast<std::size_t>(mode)).second; }

std::optional<Mode> mode_named(std::string_view name) {
    for (const auto& [mode, text] : kModes)
        if (text == name) return mode;
    return {};
}

// One mutex guards everything but the server: a request takes far less time than its test.
class Hub::Impl {
  public:
    explicit Impl(Settings settings)
        : settings_(std::move(settings)),
          journal_(settings_.log),
          known_(settings_.lock, settings_.mode == Mode::record, journal_) {}

    Expected<void> start();
    Summary stop();
    [[nodiscard]] const http::HttpServer& server() const { return *server_; }
    [[nodiscard]] http::HttpServer& server() { return *server_; }

  private:
    // A request until it is answered.
    struct Job {
        http::Request request;
        Asked asked;
        http::Respond respond;
        std::set<std::string> tried{};  // needs
        Got failure{};                  // of the last one
        bool is_checked = false;        // its content
    };
    using SharedJob = std::shared_ptr<Job>;

    // Without what the source gives, the refusal is answered.
    struct Lacking {
        Need need;
        Refusal refusal;
        bool can_get = true;     // the source may be asked
        How how = How::missing;  // without it
    };
    // A part of it is wanted, and nobody knows yet that the whole is right.
    struct Unchecked {
        std::string sha256;
        std::uint64_t size;
    };
    using Outcome = std::variant<http::Response, Lacking, Unchecked>;

    void answer(http::Request request, const http::Respond& respond);
    void step(const SharedJob& job);
    void get(const Need& need, const SharedJob& job);
    void on_got(const Need& need, Got got);

    [[nodiscard]] Outcome outcome_of(Job& job);
    [[nodiscard]] Outcome repository_outcome(const Job& job, Repository& repository);
    [[nodiscard]] Outcome file_outcome(const Job& job, const Repository& repository);
    [[nodiscard]] Outcome address_outcome(const Job& job);
    [[nodiscard]] Outcome content_answer(const Job& job, const std::string& sha256,
                                         std::uint64_t size, http::ServedFile file,
                                         const Entry& entry);
    [[nodiscard]] Refusal absence_of(const Asked& asked);
    [[nodiscard]] How how_of(const Job& job, bool is_generated) const;

    Settings settings_;
    std::mutex mutex_;
    Journal journal_;
    Known known_;
    std::unordered_map<std::string, std::vector<SharedJob>> waiting_;  // by shared_key
    std::unordered_map<std::string, Got> failed_;  // needs that the generator failed at
    std::size_t needs_ = 0;                        // that the source was asked for
    bool is_stopped_ = false;
    std::unique_ptr<Blobs> blobs_;
    std::optional<Checker> checker_;
    std::unique_ptr<Source> source_;
    std::optional<http::HttpServer> server_;
    std::thread thread_;
};

Expected<void> Hub::Impl::start() {
    if (settings_.mode == Mode::record && settings_.python.empty())
        return fail(ErrorKind::environment, "recording needs a Python, and none was found");
    blobs_ = TRY(Blobs::open(settings_.store));
    checker_.emplace(*blobs_);
    TRY(known_.open());
    const auto tick = [this] {
        const std::lock_guard lock(mutex_);
        known_.write_soon();
    };
    if (settings_.mode == Mode::record) source_ = std::make_unique<Fetcher>(settings_, tick);
    if (settings_.mode == Mode::generate && settings_.generator)
        source_ = std::make_unique<Generator>(*settings_.generator, *blobs_, tick);
    http::ServerLimits limits;
    limits.connections = kConnections;
    limits.body_bytes = kBodyBytes;
    server_.emplace(TRY(http::HttpServer::listen("127.0.0.1", 0, limits)));
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
        server_->run([this](http::Request request,
                            http::Respond respond) { answer(std::move(request), respond); },
                     http::EndBy::stop_alone);
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
}

Summary Hub::Impl::stop() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_stopped_, true)) return journal_.summary();
    }
    // First those whose threads answer requests of the server.
    if (source_) source_->stop();
    if (checker_) checker_->stop();
    server_->stop();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mutex_);
    known_.write_last();
    journal_.finish();
    return journal_.summary();
}

void Hub::Impl::answer(http::Request request, const http::Respond& respond) {
    auto job = std::make_shared<Job>();
    job->asked = route_of(request);
    job->asked.url = mask_own_secrets(job->asked.url);
    job->request = std::move(request);
    job->respond = respond;
    const std::lock_guard lock(mutex_);
    journal_.count_request();
    step(job);
}

void Hub::Impl::step(const SharedJob& job) {
    try {
        Outcome outcome = outcome_of(*job);
        if (auto* response = std::get_if<http::Response>(&outcome))
            return job->respond(std::move(*response));
        if (const auto* unchecked = std::get_if<Unchecked>(&outcome)) {
            job->is_checked = true;
            return checker_->check(unchecked->sha256, unchecked->size, [this, job] {
                const std::lock_guard lock(mutex_);
                step(job);
            });
        }
        Lacking& lacking = std::get<Lacking>(outcome);
        const Need& need = lacking.need;
        const auto failed = failed_.find(need.key());
        if (failed != failed_.end()) job->failure = failed->second;
        const bool asks = source_ && lacking.can_get && failed == failed_.end();
        if (asks && job->tried.insert(need.key()).second) {
            if (needs_ < kMostNeeds) return get(need, job);
            job->failure = {507, "", fmt::format("this run has asked for {} names", kMostNeeds)};
        }
        if (job->failure.status != 200) {
            lacking.refusal = {job->failure.status, job->failure.code, job->failure.why};
            if (job->failure.status >= 500) lacking.how = How::failed;
        }
        const bool is_url = need.what == Need::What::address;
        journal_.add({lacking.how, is_url ? "url" : name_of(need.kind),
                      is_url ? need.url : need.name, need.revision, need.path,
                      lacking.refusal.message});
        http::Response response = refused(lacking.refusal, need.commit);
        if (lacking.how != How::absent) mark_missing(response);
        job->respond(std::move(response));
    } catch (const std::exception&) {
        job->respond(refused({500, "", "the runner's hub failed to answer"}));
    }
}

// One download serves all who want it at the same time, and may have it alike.
void Hub::Impl::get(const Need& need, const SharedJob& job) {
    auto& waiting = waiting_[shared_key(need)];
    waiting.push_back(job);
    if (waiting.size() > 1) return;
    ++needs_;
    // `done` may come at once, from this thread, which holds the mutex: not from a source of ours,
    // but for one that cannot be started.
    std::thread::id here = std::this_thread::get_id();
    auto at_once = std::make_shared<std::optional<Got>>();
    auto is_inside = std::make_shared<bool>(true);
    try {
        source_->get(need, [this, need, here, at_once, is_inside](Got got) {
            if (std::this_thread::get_id() == here && *is_inside) {
                *at_once = std::move(got);
                return;
            }
            const std::lock_guard lock(mutex_);
            on_got(need, std::move(got));
        });
    } catch (const std::exception&) {  // no thread or no memory: nobody may wait for it
        *at_once = Got{500, "", "the runner's hub failed to ask"};
    }
    *is_inside = false;
    if (*at_once) on_got(need, std::move(**at_once));
}

void Hub::Impl::on_got(const Need& need, Got got) {
    journal_.count_fetched(got.bytes_fetched);
    // Nothing changes by itself in a generator; a hub elsewhere may come back.
    if (settings_.mode == Mode::generate && got.status >= 500)
        failed_.insert_or_assign(need.key(), got);
    known_.add(need, got);
    auto waiting = waiting_.extract(shared_key(need));
    if (waiting.empty()) return;
    got.repository.reset();
    for (const SharedJob& job : waiting.mapped()) {
        job->failure = got;
        step(job);
    }
}

How Hub::Impl::how_of(const Job& job, bool is_generated) const {
    if (is_generated) return How::generated;
    return job.tried.empty() ? How::recorded : How::fetched;
}

Refusal Hub::Impl::absence_of(const Asked& asked) {
    if (known_.is_recorded(asked.kind, asked.name))
        return {404, "RevisionNotFound",
                fmt::format("revision {} of {} is not in the lock", asked.revision,
                            title_of(asked.kind, asked.name))};
    return {404, "RepoNotFound",
            fmt::format("{} is not in the lock", title_of(asked.kind, asked.name))};
}

Hub::Impl::Outcome Hub::Impl::outcome_of(Job& job) {
    const Asked& asked = job.asked;
    switch (asked.route) {
        case Route::unreadable:
            return refused({400, "", "this is no address of the hub"});
        case Route::telemetry:
            return refused({404, "", "telemetry goes nowhere"});
        case Route::whoami:
            return refused({401, "", "Invalid credentials in Authorization header"});
        case Route::read_only:
            return refused({403, "", "this hub can only be read"});
        case Route::address:
            return address_outcome(job);
        default:
            break;
    }
    Repository* repository = known_.find(asked.kind, asked.name, asked.revision);
    // Absent when it was recorded: it may have come since.
    const bool asks_again = repository && repository->is_absent() && !repository->is_generated &&
                            settings_.mode == Mode::record && job.tried.empty();
    if (repository && !asks_again) return repository_outcome(job, *repository);
    Need need;
    need.kind = asked.kind;
    need.name = asked.name;
    need.revision = asked.revision;
    need.path = asked.route == Route::file || asked.route == Route::raw ? asked.path : "";
    need.authorization = job.request.authorization;
    return Lacking{std::move(need), absence_of(asked)};
}

Hub::Impl::Outcome Hub::Impl::repository_outcome(const Job& job, Repository& repository) {
    const Asked& asked = job.asked;
    if (repository.is_absent()) {
        const std::string why =
            repository.why.empty() ? "the hub had no such repository" : repository.why;
        journal_.add({How::missing, name_of(asked.kind), asked.name, asked.revision, "", why});
        http::Response response = refused({repository.status, repository.error, why});
        mark_missing(response);
        return response;
    }
    const bool is_content = asked.route == Route::file || asked.route == Route::raw;
    if (!is_content)
        journal_.add({how_of(job, repository.is_generated), name_of(asked.kind), asked.name,
                      asked.revision, "", repository.why, repository.made_from});
    if (asked.route == Route::info) return info_answer(repository, asked);
    if (asked.route == Route::tree) return tree_answer(repository, asked);
    if (asked.route == Route::paths) return paths_answer(repository, asked);
    if (asked.route == Route::refs) return refs_answer(known_.entries_of(repository));
    if (asked.name != repository.name && asked.route == Route::file)
        return redirect_to(resolve_path(repository, asked.revision, asked.path));
    return file_outcome(job, repository);
}

Hub::Impl::Outcome Hub::Impl::file_outcome(const Job& job, const Repository& repository) {
    const Asked& asked = job.asked;
    const auto at = repository.files.find(asked.path);
    Need need;
    need.what = Need::What::file;
    need.kind = repository.kind;
    need.name = repository.name;
    const bool by_commit = asked.revision == repository.commit && !repository.revisions.empty();
    need.revision = by_commit ? *repository.revisions.begin() : asked.revision;
    need.path = asked.path;
    need.commit = repository.commit;
    need.authorization = job.request.authorization;
    const Entry entry{how_of(job, repository.is_generated),
                      name_of(repository.kind),
                      repository.name,
                      asked.revision,
                      asked.path,
                      repository.why,
                      repository.made_from};
    if (at == repository.files.end()) {
        const Refusal refusal{
            404, "EntryNotFound",
            fmt::format("{} does not exist on \"{}\"", asked.path, asked.revision)};
        // A listing from the hub is complete; clients look for files that are optional.
        return Lacking{std::move(need), refusal, repository.is_generated, How::absent};
    }
    const File& file = at->second;
    need.file = file;
    if (asked.route == Route::raw && file.is_lfs)
        return http::Response{200, "text/plain; charset=utf-8", http::text_body(lfs_pointer(file)),
                              file_headers(repository, file)};
    const bool is_head = job.request.method == http::Method::head;
    if (!is_head && !file.is_kept) {
        Refusal refusal{404, "EntryNotFound", "this file was not recorded: it is only listed"};
        if (!repository.gated.empty())
            refusal = {job.request.authorization.empty() ? 401U : 403U, "GatedRepo",
                       fmt::format("Access to {} is restricted and it was not recorded",
                                   title_of(repository.kind, repository.name))};
        return Lacking{std::move(need), refusal, settings_.mode == Mode::record};
    }
    http::ServedFile served{
        file.size, etag_of(file), "application/octet-stream", file_headers(repository, file), {}};
    return content_answer(job, file.is_kept ? file.sha256 : "", file.size, std::move(served),
                          entry);
}

Hub::Impl::Outcome Hub::Impl::address_outcome(const Job& job) {
    const std::string& url = job.asked.url;
    const Address* address = known_.find_address(url);
    if (!address) {
        Need need;
        need.what = Need::What::address;
        need.url = url;
        need.asked_url = job.asked.full_url;
        const bool is_own = url.starts_with(std::string(kHubUrl) + "/");
        if (is_own) need.authorization = job.request.authorization;
        return Lacking{std::move(need), {404, "", url + " is not in the lock"}};
    }
    const Entry entry{how_of(job, address->is_generated), "url", url, "", "", address->why};
    http::ServedFile served{
        address->size, fmt::format("\"{}\"", address->sha256), address->type, {}, {}};
    if (address->is_generated) served.headers.emplace_back("X-Compat-Generated", "1");
    if (address->status == 200 && !address->sha256.empty())
        return content_answer(job, address->sha256, address->size, std::move(served), entry);
    journal_.add(entry);
    http::Response response = refused({address->status, "", "as the host answered"});
    response.type = "text/plain; charset=utf-8";
    return response;
}

Hub::Impl::Outcome Hub::Impl::content_answer(const Job& job, const std::string& sha256,
                                             std::uint64_t size, http::ServedFile file,
                                             const Entry& entry) {
    const bool is_head = job.request.method == http::Method::head;
    if (is_head) {
        journal_.add(entry);
        file.open = [size](http::ByteRange range) { return http::no_body(range.size); };
        return http::file_response(job.request, std::move(file));
    }
    const auto range = http::range_of(job.request.range, size);
    const auto damaged = [this, entry](const std::string& why) {
        Entry bad = entry;
        bad.how = How::damaged;
        bad.why = why;
        journal_.add(bad);
    };
    if (range && range->size != size && blobs_->needs_check(sha256, size)) {
        if (!job.is_checked) return Unchecked{sha256, size};
        const std::string why = "the stored file cannot be read, or it changes";
        damaged(why);
        return refused({500, "", why});
    }
    auto open = blobs_->body_of(sha256, size, [this, damaged](const std::string& why) {
        const std::lock_guard lock(mutex_);
        damaged(why);
    });
    if (!open) {
        damaged(open.error().message);
        return refused({500, "", open.error().message + " (" + open.error().where + ")"});
    }
    journal_.add(entry);
    file.open = std::move(*open);
    return http::file_response(job.request, std::move(file));
}

Hub::Hub(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hub::~Hub() { (void)impl_->stop(); }

Expected<std::unique_ptr<Hub>> Hub::start(Settings settings) {
    auto impl = std::make_unique<Impl>(std::move(settings));
    TRY(impl->start());
    return std::unique_ptr<Hub>(new Hub(std::move(impl)));
}

std::uint16_t Hub::port() const { return impl_->server().port(); }
std::string Hub::endpoint() const { return fmt::format("http://127.0.0.1:{}", port()); }
std::shared_ptr<void> Hub::listen_also(Fd listener) {
    return impl_->server().adopt(std::move(listener));
}
Summary Hub::stop() { return impl_->stop(); }

}  // namespace compat::hub
