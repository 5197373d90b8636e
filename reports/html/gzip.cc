#include "reports/html/gzip.h"

#include <zlib.h>

#include <cassert>
#include <new>

namespace compat::reports {

namespace {

constexpr int kGzipLevel = 6;

}  // namespace

std::string gzipped(const std::string& text) {
    z_stream stream{};
    constexpr int kGzipWindow = 15 + 16;
    if (deflateInit2(&stream, kGzipLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();  // its only error with these arguments
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    [[maybe_unused]] const int ended = deflate(&stream, Z_FINISH);
    assert(ended == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace compat::reports
