// Errors in NCCL's words (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, NCCLUtils.hpp). All are
// c10::DistBackendError, in Python torch.distributed.DistBackendError.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace compat::shim::simulate {

// The version that torch.cuda.nccl.version() answers, which errors name.
inline constexpr int kNcclMajor = 2, kNcclMinor = 27, kNcclPatch = 5;

[[noreturn]] void throw_backend_error(const std::string& text);
[[nodiscard]] std::exception_ptr backend_error(const std::string& text);

[[noreturn]] void throw_duplicate_device(std::size_t rank, std::size_t other,
                                         c10::DeviceIndex device);
// Throws NCCL's ArgsCheck error (argcheck.cc). `collective`: "Broadcast".
[[noreturn]] void throw_invalid_root(const std::string& collective, int root, int ranks);
// The error if a peer's process has ended, or its connection broke. `why`: gloo's words.
[[nodiscard]] std::exception_ptr remote_error(const std::string& call, std::string_view why);
[[nodiscard]] std::exception_ptr aborted_error(int rank);

}  // namespace compat::shim::simulate
