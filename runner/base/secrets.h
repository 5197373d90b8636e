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
// Those of this program's own environment: of whoever asks for the text.
[[nodiscard]] std::vector<std::string> own_secret_values();

// `text` with kMasked for each of `values`, for what follows a variable's secret name in capitals
// ("HF_TOKEN=…", "'API_KEY': '…'"), for quoted text that follows a name of a password or secret in
// any letters ("password='…'"), for tokens of well-known forms ("ghp_…"), and for passwords in
// URLs.
[[nodiscard]] std::string mask_secrets(std::string_view text,
                                       const std::vector<std::string>& values);

}  // namespace compat
