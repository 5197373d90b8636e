// The bytes of an answer, read piece by piece while they are sent: a connection needs one piece in
// memory, however large the answer is. Not for which answer is sent (runner/serve, runner/hub).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace compat::http {

class Body {
  public:
    virtual ~Body() = default;
    // The size of all pieces together, known before the first.
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    // The next piece, valid until the next call; empty: at the end, or the rest cannot be read.
    [[nodiscard]] virtual std::string_view next() = 0;
};

using SharedText = std::shared_ptr<const std::string>;

[[nodiscard]] std::unique_ptr<Body> text_body(SharedText text);
[[nodiscard]] std::unique_ptr<Body> text_body(std::string text);
// `gzip` uncompressed; `size`: of the uncompressed text.
[[nodiscard]] std::unique_ptr<Body> unzipped_body(SharedText gzip, std::uint64_t size);
// For an answer without its body (HEAD): has a size and no piece.
[[nodiscard]] std::unique_ptr<Body> no_body(std::uint64_t size);
// `size` bytes of an open file from `first` on. Closes `fd`.
[[nodiscard]] std::unique_ptr<Body> file_body(int fd, std::uint64_t first, std::uint64_t size);

}  // namespace compat::http
