// The MAC (message authentication code) at the end of a line of JSON: nobody can write such a line
// without the key. It is BLAKE2b with a key (RFC 7693), as Python's hashlib.blake2b makes it. Not
// for files, passwords or what must stay secret.
#pragma once

#include <string>
#include <string_view>

namespace compat {

// A key that nobody can guess: 32 characters.
[[nodiscard]] std::string new_mac_key();

// 32 hexadecimal digits. `key` has 64 bytes at most.
[[nodiscard]] std::string mac_of(std::string_view text, std::string_view key);

// Whether `line` ends with `, "mac": "<MAC of all before>"}`.
[[nodiscard]] bool has_mac(std::string_view line, std::string_view key);

}  // namespace compat
