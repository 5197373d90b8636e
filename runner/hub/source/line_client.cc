#include "runner/hub/source/line_client.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "runner/base/line_reader.h"
#include "runner/base/secrets.h"
#include "runner/hub/json_text.h"

namespace compat::hub {

namespace {

using nlohmann::json;

// A program that dies at each request must not be started without end.
constexpr int kMostStarts = 8;
constexpr std::uint64_t kGreeting = 0;
// Fewer than a pipe holds: a program that is busy with one request need not read the others.
constexpr std::size_t kMostUnderWay = 32 << 10;

}  // namespace

LineClient::LineClient(Program program, std::string name, std::chrono::seconds limit,
                       std::function<void()> on_tick)
    : program_(std::move(program)),
      name_(std::move(name)),
      limit_(limit),
      tick_(std::move(on_tick)) {}

void LineClient::ask(json request, Done done) {
    const std::uint64_t id = [this] {
        const std::lock_guard lock(mutex_);
        return ++last_id_;
    }();
    request["id"] = id;
    add(id, json_text(request) + "\n", std::move(done));
}

void LineClient::greet(Done done) { add(kGreeting, "", std::move(done)); }

void LineClient::add(std::uint64_t id, std::string line, Done done) {
    Failed failed;
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty()) progress_ = std::chrono::steady_clock::now();
        pending_[id] = {std::move(line), std::move(done)};
        if (!process_ || is_stopped_)
            start_and_send(failed);
        else
            send_more();
    }
    for (const auto& [failing, error] : failed) failing(tl::unexpected(error));
}

Error LineClient::error_of(const std::string& why) const {
    return {ErrorKind::spawn, mask_own_secrets(fmt::format("{} failed: {}", name_, why)), "", ""};
}

void LineClient::fail_all(const Error& error, Failed& failed) {
    for (auto& [id, pending] : pending_) failed.emplace_back(std::move(pending.done), error);
    pending_.clear();
}

void LineClient::start_and_send(Failed& failed) {
    if (is_stopped_) return fail_all(error_of("the run ends"), failed);
    if (starts_ >= kMostStarts)
        return fail_all(error_of(fmt::format("it ended {} times", starts_)), failed);
    ++starts_;
    progress_ = std::chrono::steady_clock::now();
    auto started = LineProcess::start(
        program_, {[this](std::string_view line) { on_line(line); }, [this] { on_tick(); },
                   [this](const std::string& why) { on_end(why); }});
    if (!started) return fail_all(error_of(to_line(started.error())), failed);
    process_ = std::move(*started);
    under_way_ = 0;
    for (auto& [id, pending] : pending_) pending.is_sent = false;
    send_more();
}

// The oldest first; the rest is sent after an answer.
void LineClient::send_more() {
    for (auto& [id, pending] : pending_) {
        if (pending.is_sent || pending.line.empty()) continue;
        if (under_way_ > 0 && under_way_ + pending.line.size() > kMostUnderWay) return;
        pending.is_sent = true;
        under_way_ += pending.line.size();
        // Asked again when it has ended.
        if (!process_->send(pending.line)) return process_->end("it does not read its input");
    }
}

void LineClient::on_line(std::string_view line) {
    json answer;
    if (!json_nests_deeper(line)) answer = json::parse(line, nullptr, false);
    Done done;
    {
        const std::lock_guard lock(mutex_);
        if (!answer.is_object()) {
            if (process_) process_->end("it wrote a line that is no JSON object");
            return;
        }
        const auto id = answer.find("id");
        const std::uint64_t number =
            id != answer.end() && id->is_number_unsigned() ? id->get<std::uint64_t>() : kGreeting;
        const auto at = pending_.find(number);
        if (at == pending_.end()) return;
        done = std::move(at->second.done);
        if (at->second.is_sent) under_way_ -= at->second.line.size();
        pending_.erase(at);
        progress_ = std::chrono::steady_clock::now();
        if (number != kGreeting) starts_ = 0;
        if (process_) send_more();
    }
    done(std::move(answer));
}

void LineClient::on_tick() {
    {
        const std::lock_guard lock(mutex_);
        const auto waited = std::chrono::steady_clock::now() - progress_;
        if (process_ && !pending_.empty() && limit_.count() > 0 && waited > limit_)
            process_->end(fmt::format("no answer within {} s", limit_.count()));
    }
    if (tick_) tick_();
}

// Whatever it was asked first may be what killed it: that fails, the others are asked again.
void LineClient::on_end(const std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        ++endings_;
    }
    const std::shared_ptr<void> at_end(nullptr, [this](void*) {
        const std::lock_guard lock(mutex_);
        --endings_;
        ended_.notify_all();
    });
    Failed failed;
    std::unique_ptr<LineProcess> ended;
    {
        const std::lock_guard lock(mutex_);
        ended = std::move(process_);
        if (!pending_.empty()) {
            failed.emplace_back(std::move(pending_.begin()->second.done), error_of(why));
            pending_.erase(pending_.begin());
        }
        if (!pending_.empty()) start_and_send(failed);
    }
    for (const auto& [failing, error] : failed) failing(tl::unexpected(error));
}

void LineClient::stop() {
    Failed failed;
    std::unique_ptr<LineProcess> ended;
    {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        ended = std::move(process_);
        fail_all(error_of("the run ends"), failed);
    }
    ended.reset();
    for (const auto& [failing, error] : failed) failing(tl::unexpected(error));
    // The thread of a program that has just ended by itself is nobody's to join.
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return endings_ == 0; });
}

}  // namespace compat::hub
