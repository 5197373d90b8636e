// The identity of a failure across tests, modules, suites and runs. Not for what caused it
// (diagnose.h).
#pragma once

#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// The text with what differs from run to run masked: URLs, paths, addresses, UUIDs and hashes,
// numbers. Digits that are part of a word stay: "float64", "conv2d". An operation on tensors of two
// dtypes is one mistake, which each device refuses in words of its own: such a line becomes
// "RuntimeError: dtypes differ: float16, float32".
[[nodiscard]] std::string masked(std::string_view text);

// "ValueError: mean relative difference: nan, atol = # @ tests/test_common.py:check": the key line
// masked, and the innermost frame of the suite, the shim or torch; where there is none, the
// innermost. Line numbers are left out, so that a commit above does not change it. At most
// kSignatureBytes of UTF-8, a longer one cut and told apart by a checksum of the whole.
inline constexpr size_t kSignatureBytes = 300;
[[nodiscard]] std::string signature_of(const Failure& failure);

// The frame in a failure's signature. Null: the failure has no frames.
[[nodiscard]] const Frame* signature_frame(const Failure& failure);

}  // namespace compat::parsers
