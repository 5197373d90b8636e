// The messages between an init and the runner (sandbox.h), which are the same program. Not for what
// they mean.
#pragma once

#include <cstddef>
#include <string_view>

namespace compat::exec {

// Before an init's role, with a port: it listens there and sends the socket with its message.
inline constexpr std::string_view kListenWord = "listen";
inline constexpr std::string_view kInitMessage = "init";
inline constexpr std::string_view kLeaderMessage = "leader";
inline constexpr std::string_view kGoMessage = "go";
inline constexpr std::string_view kWaitMessage = "wait";
// Followed by the status, the rusage and a JSON object with the files that are left.
inline constexpr std::string_view kEndedMessage = "ended ";
inline constexpr std::size_t kLongestMessage = 1 << 16;

}  // namespace compat::exec
