// Masks secrets in text that people will see: logs, messages, tracebacks. Best effort: a secret
// that nothing names and whose form is unknown stays. Not for single variables (names.h,
// mask_secret).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace compat {

// Values of the variables with secret names (is_secret_name), longest first. Values of fewer than
// six bytes are left out: as text, "1" or "true" is no secret.
[[nodiscard]] std::vector<std::string> secret_values(
    const std::vector<std::pair<std::string, std::string>>& variables);
// Those of this program's own environment, of whoever asks for the text, and of the variables that
// were remembered.
[[nodiscard]] std::vector<std::string> own_secret_values();
// Variables that this program was given in another way: `--env`, a suite's `env`.
void remember_secrets(const std::vector<std::pair<std::string, std::string>>& variables);

// `text` with kMasked for each of `values`, and for
// - what follows a variable's secret name in capitals ("HF_TOKEN=…", "'API_KEY': '…'"),
// - quoted text that follows a name of a password or secret in any letters ("password='…'"),
// - the values of options of such names ("--password …", "'--api-key', '…'"),
// - headers of HTTP that hold credentials ("Authorization: Basic …", "Cookie: …"),
// - private keys in text form, of which the number of lines stays,
// - tokens of well-known forms ("ghp_…"), and passwords in URLs.
// Placeholders of secrets stay: "<pad>", "$TOKEN", "--password PASSWORD".
[[nodiscard]] std::string mask_secrets(std::string_view text,
                                       const std::vector<std::string>& values);

// The private keys of `text` alone. Call it before masking line by line: a single line of a key
// cannot be recognised.
[[nodiscard]] std::string mask_private_keys(std::string text);

// With own_secret_values(), of the environment as it was at the first call.
[[nodiscard]] std::string mask_own_secrets(std::string_view text);

}  // namespace compat
