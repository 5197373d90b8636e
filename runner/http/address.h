// Addresses of requests, as text: a path's components, decoded strictly; which Host headers are
// ours; a range of bytes. Not for what is at an address (runner/serve, runner/hub).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::http {

// Decodes %XX. Empty: a "%" without two hexadecimal digits, or a NUL.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

// The components of a target's path, decoded one by one: "/a%2Fb/" has "a/b" and "". "/" has none.
// The query is left out. Empty: it does not begin with "/", or cannot be decoded.
[[nodiscard]] std::optional<std::vector<std::string>> components_of(std::string_view target);

// A component of an address: everything but letters, digits and "-._~" as %XX.
[[nodiscard]] std::string encoded_component(std::string_view text);

// Whether a component names a file in a folder, and neither that folder nor one above it.
[[nodiscard]] bool is_file_name(std::string_view component);

// The Host headers that a server answers. A page of another origin whose name was pointed at this
// machine (DNS rebinding) sends its own name, and gets nothing.
class KnownHosts {
  public:
    // `address`: the bound one, numeric. `name`: as the user wrote it.
    KnownHosts(std::string address, std::string name);
    // `host`: "localhost:8737", "[::1]", of any port: a tunnel's differs.
    [[nodiscard]] bool has(std::string_view host) const;

  private:
    std::vector<std::string> names_;
    bool any_number_ = false;  // bound to every address: a number cannot be pointed elsewhere
};

// Bytes of a file of `size` bytes that a Range header asks for.
struct ByteRange {
    std::uint64_t first = 0, size = 0;
};
// Empty: none is asked for, or in a form that may be ignored (several ranges). A range outside the
// file has size 0.
[[nodiscard]] std::optional<ByteRange> range_of(std::string_view header, std::uint64_t size);

}  // namespace compat::http
