// Names that come from outside (modules, parameters, series) and what they become on disk.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runner/base/clock.h"

namespace compat {

extern const std::string_view kVersion;  // the project's, from CMake

// "<series>_<UTC yyyymmdd-hhmmss>-<4 hex>".
[[nodiscard]] std::string make_run_id(std::string_view series, WallTime now, unsigned random16);

// A path under a run's folder for a module named by `module` ("tests/test_ops.py", "a/../b", "/x",
// "x\ny"): never leaves that folder and never collides for different names. Bytes outside
// [A-Za-z0-9._-] become %XX, as do "." and ".." where a whole component is one; "/" stays a
// separator; empty components become "%".
[[nodiscard]] std::filesystem::path escaped_path(std::string_view module);

// One path component, by the same rules ("/" is escaped too).
[[nodiscard]] std::string escaped_component(std::string_view name);

// What is stored and shown in the place of a secret.
inline constexpr std::string_view kMasked = "<set>";

// True where the name of an environment variable says that its value is secret: TOKEN, KEY, SECRET,
// PASSWORD, PASSWD, PWD, CREDENTIAL, COOKIE, AUTH, DSN.
[[nodiscard]] bool is_secret_name(std::string_view name);

// "scheme://user:password@host" with kMasked for each password.
[[nodiscard]] std::string mask_url_passwords(std::string_view text);

// The value of a variable as it may be stored and shown.
[[nodiscard]] std::string mask_secret(std::string_view name, std::string_view value);

// Length of the valid UTF-8 sequence at the start of `s`, which is not empty; 0 where there is none
// (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF).
[[nodiscard]] std::size_t utf8_length(std::string_view s);

[[nodiscard]] bool is_utf8(std::string_view bytes);

// Of UTF-8 the first and the last so many bytes at most, without half a character at the cut.
[[nodiscard]] std::string_view first_bytes(std::string_view text, std::size_t bytes);
[[nodiscard]] std::string_view last_bytes(std::string_view text, std::size_t bytes);

// A word quoted for a POSIX shell where it needs it, for commands that people copy.
[[nodiscard]] std::string shell_quoted(std::string_view word);

}  // namespace compat
