// Masks secrets in text that people will see: logs, messages, tracebacks. Best effort: a secret
// that no variable names cannot be known. Not for single variables (names.h, mask_secret).
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

// `text` with kMasked for each of `values`, for what follows a variable's secret name in capitals
// ("HF_TOKEN=…", "'API_KEY': '…'"), and for passwords in URLs.
[[nodiscard]] std::string mask_secrets(std::string_view text,
                                       const std::vector<std::string>& values);

}  // namespace compat
