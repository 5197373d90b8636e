#include "runner/exec/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace compat::exec {

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

    const auto& kind = name->get_ref<const std::string&>();
    if (kind == "collected") {
        ++progress_.collected;
    } else if (kind == "ready") {
        progress_.ready = true;
    } else if (kind == "start") {
        const auto id = event.find("id");
        if (id != event.end() && id->is_string()) progress_.current = id->get<std::string>();
    } else if (kind == "end") {
        ++progress_.ended;
        progress_.current.clear();
    }
}

bool ProgressReader::poll() {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
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
