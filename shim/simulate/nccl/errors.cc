#include "simulate/nccl/errors.h"

#include <c10/util/Exception.h>

namespace compat::shim::simulate {
namespace {

std::string nccl_error(std::string_view kind, std::string_view meaning, std::string_view last) {
    return "NCCL error in: ProcessGroupNCCL.cpp, " + std::string(kind) + ", NCCL version " +
           std::to_string(kNcclMajor) + "." + std::to_string(kNcclMinor) + "." +
           std::to_string(kNcclPatch) + "\n" + std::string(meaning) + "\nLast error:\n" +
           std::string(last);
}

}  // namespace

void throw_backend_error(const std::string& text) { C10_THROW_ERROR(DistBackendError, text); }

std::exception_ptr backend_error(const std::string& text) {
    try {
        throw_backend_error(text);
    } catch (...) {
        return std::current_exception();
    }
}

void throw_duplicate_device(std::size_t rank, std::size_t other, c10::DeviceIndex device) {
    throw_backend_error(
        nccl_error("invalid usage (run with NCCL_DEBUG=WARN for details)",
                   "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
                   "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
                       std::to_string(other) + " both on CUDA device " + std::to_string(device)));
}

void throw_invalid_root(const std::string& collective, int root, int ranks) {
    throw_backend_error(nccl_error("invalid argument (run with NCCL_DEBUG=WARN for details)",
                                   "ncclInvalidArgument: Invalid value for an argument.",
                                   collective + " : invalid root " + std::to_string(root) +
                                       " (root should be in the 0.." + std::to_string(ranks) +
                                       " range)"));
}

std::exception_ptr remote_error(const std::string& call, std::string_view why) {
    return backend_error(
        nccl_error("remote process exited or there was a network error",
                   "ncclRemoteError: A call failed possibly due to a network error or a remote "
                   "process exiting prematurely.",
                   std::string(why)) +
        "\nin " + call);
}

std::exception_ptr aborted_error(int rank) {
    return backend_error("NCCL communicator was aborted on rank " + std::to_string(rank) + ".");
}

}  // namespace compat::shim::simulate
