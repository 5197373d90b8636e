// Names from outside (modules, parameters, series) as file names, secrets, UTF-8 and shell words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/files/fs.h"

namespace compat {

extern const std::string_view kVersion;  // the project's, from CMake

// "<series>_<UTC yyyymmdd-hhmmss>-<4 hex>".
[[nodiscard]] std::string make_run_id(std::string_view series, WallTime now, unsigned random16);

// A path below a run's folder for the module `module` ("tests/test_ops.py", "a/../b", "/x",
// "x\ny"). It never leaves that folder, and different names give different paths. Bytes outside
// [A-Za-z0-9._-] and the components "." and ".." become %XX; "/" separates components; an empty
// component becomes "%".
[[nodiscard]] fs::path escaped_path(std::string_view module);

// One component, by the same rules; "/" is escaped too.
[[nodiscard]] std::string escaped_component(std::string_view name);

// For people and addresses: letters, digits and "._-" of `text`, everything else as "-". At most 80
// characters; a longer name, and one without any such character, has a hash. Different texts may
// give one name.
[[nodiscard]] std::string short_name(std::string_view text);
// FNV-1a, 32 bits.
[[nodiscard]] std::uint32_t short_hash(std::string_view text);

// Stored and shown instead of a secret.
inline constexpr std::string_view kMasked = "<set>";

// Whether the name of an environment variable marks its value as secret: it contains TOKEN, KEY,
// SECRET, PASSWORD, PASSWD, PWD, CREDENTIAL, COOKIE, AUTH or DSN.
[[nodiscard]] bool is_secret_name(std::string_view name);

// Replaces each password in "scheme://user:password@host" by kMasked, and a user's name that looks
// like a token.
[[nodiscard]] std::string mask_url_passwords(std::string_view text);

// The value of a variable, masked for storage and display.
[[nodiscard]] std::string mask_secret(std::string_view name, std::string_view value);

// Length of the valid UTF-8 sequence at the start of non-empty `s`; 0: invalid (RFC 3629: no
// overlong forms, no surrogates, nothing past U+10FFFF).
[[nodiscard]] std::size_t utf8_length(std::string_view s);

[[nodiscard]] bool is_utf8(std::string_view bytes);

// At most the first or the last `bytes` of UTF-8 text, cut between characters.
[[nodiscard]] std::string_view first_bytes(std::string_view text, std::size_t bytes);
[[nodiscard]] std::string_view last_bytes(std::string_view text, std::size_t bytes);

// Quotes a word for a POSIX shell if needed, for commands that people copy.
[[nodiscard]] std::string shell_quoted(std::string_view word);
// A command line.
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace compat
