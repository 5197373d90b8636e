// Answers with a file: whole, a range of it, or that the client's copy is still right. Not for
// which file it is, nor for opening it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/http/address.h"
#include "runner/http/http_server.h"

namespace compat::http {

struct ServedFile {
    std::uint64_t size = 0;
    std::string etag;  // with its quotes
    std::string type;
    std::vector<std::pair<std::string, std::string>> headers{};  // further ones
    std::function<std::unique_ptr<Body>(ByteRange)> open;        // called once at most
};

// Whether the client's copy is the one with this tag.
[[nodiscard]] bool has_etag(const std::string& if_none_match, const std::string& etag);

// 200, 206, 304 or 416, with Accept-Ranges and ETag.
[[nodiscard]] Response file_response(const Request& request, ServedFile file);

}  // namespace compat::http
