#include "runner/exec/progress.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace compat::exec {

namespace {

constexpr std::int64_t kNoMore = std::numeric_limits<std::int64_t>::max();

std::string text_at(const nlohmann::json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

TestEnd end_of(const nlohmann::json& event) {
    TestEnd end{text_at(event, "id"), text_at(event, "state"), {}, {}};
    const auto failure = event.find("failure");
    if (failure == event.end() || !failure->is_object()) return end;
    end.type = text_at(*failure, "type");
    end.message = text_at(*failure, "message");
    return end;
}

}  // namespace

bool ProgressReader::is_next(std::int64_t seq) {
    if (next_ == 0 && seq < 0) return true;
    if (seq < next_ || seq == kNoMore) return false;
    next_ = seq + 1;
    return true;
}

void ProgressReader::feed(std::string_view line) {
    const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object()) return;
    const auto name = event.find("event");
    const auto pid = event.find("pid");
    if (name == event.end() || !name->is_string() || pid == event.end() ||
        !pid->is_number_integer())
        return;
    if (pid_ == 0) pid_ = pid->get<std::int64_t>();
    if (*pid != pid_) return;
    const auto seq = event.find("seq");
    const bool numbered = seq != event.end() && seq->is_number_integer();
    if (!is_next(numbered ? seq->get<std::int64_t>() : -1)) return;

    const auto& kind = name->get_ref<const std::string&>();
    if (kind == "session") {
        progress_.session = true;
    } else if (kind == "collected") {
        ++progress_.collected;
    } else if (kind == "ready") {
        progress_.ready = true;
    } else if (kind == "finish") {
        next_ = kNoMore;
    } else if (kind == "start" || kind == "end") {
        const auto id = event.find("id");
        if (id == event.end() || !id->is_string()) return;
        if (kind == "start") {
            ++progress_.starts;
            open_.push_back(id->get<std::string>());
        } else {
            ++progress_.ended;  // also of one that never started
            TestEnd end = end_of(event);
            if (end.state != "passed") ends_.push_back(std::move(end));
            const auto open = std::find(open_.rbegin(), open_.rend(), *id);
            if (open != open_.rend()) open_.erase(std::next(open).base());
        }
        progress_.current = open_.empty() ? std::string() : open_.back();
    }
}

bool ProgressReader::poll() {
    // A suite may have put a pipe in its place, for which nobody waits.
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    struct stat file {};
    ::fstat(fd, &file);
    if (file.st_ino != inode_ || file.st_size < static_cast<off_t>(offset_)) {
        offset_ = 0;
        partial_.clear();
    }
    inode_ = file.st_ino;
    const Progress before = progress_;
    char buffer[1 << 16];
    while (true) {
        const ssize_t n = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(offset_));
        if (n <= 0) break;
        offset_ += static_cast<std::uint64_t>(n);
        std::string_view rest(buffer, static_cast<size_t>(n));
        for (size_t end; (end = rest.find('\n')) != std::string_view::npos;
             rest.remove_prefix(end + 1)) {
            partial_ += rest.substr(0, end);
            feed(partial_);
            partial_.clear();
        }
        partial_ += rest;
    }
    ::close(fd);
    return progress_ != before;
}

}  // namespace compat::exec
