#include "runner/http/file_response.h"

#include <fmt/format.h>

namespace compat::http {

namespace {

constexpr unsigned kPartial = 206, kNotModified = 304, kUnsatisfiable = 416;

}  // namespace

bool has_etag(const std::string& if_none_match, const std::string& etag) {
    return if_none_match == "*" || if_none_match.find(etag) != std::string::npos;
}

Response file_response(const Request& request, ServedFile file) {
    Response response;
    response.headers = std::move(file.headers);
    response.headers.emplace_back("Accept-Ranges", "bytes");
    response.headers.emplace_back("ETag", file.etag);
    response.type = std::move(file.type);
    if (has_etag(request.if_none_match, file.etag)) {
        response.status = kNotModified;
        response.type.clear();
        return response;
    }
    const auto range = range_of(request.range, file.size);
    if (range && range->size == 0) {
        response.status = kUnsatisfiable;
        response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", file.size));
        return response;
    }
    if (range) {
        response.status = kPartial;
        response.headers.emplace_back(
            "Content-Range",
            fmt::format("bytes {}-{}/{}", range->first, range->first + range->size - 1, file.size));
    }
    response.body = file.open(range.value_or(ByteRange{0, file.size}));
    return response;
}

}  // namespace compat::http
