// Installs an accelerator: its kernels, guard, memory and hooks. Answers which one is installed.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <utility>

#include "simulate/accelerator.h"
#include "simulate/guard.h"
#include "simulate/kernel.h"
#include "simulate/memory.h"
#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

const Accelerator* present = nullptr;
int simulated_devices = 0;
thread_local int current = 0;

// Never destroyed, like the kernels they hold.
torch::Library& library(c10::DispatchKey key) {
    return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

bool torch_has(const Accelerator& accelerator) {
    const auto empty = c10::Dispatcher::singleton().findSchema({"aten::empty", "memory_format"});
    return empty && empty->hasKernelForDispatchKey(accelerator.keys().dense);
}

}  // namespace

void install(const Accelerator& accelerator, int count) {
    const auto name = c10::DeviceTypeName(accelerator.type(), true);
    TORCH_CHECK(!present, "an accelerator is simulated already in this process: ",
                c10::DeviceTypeName(present ? present->type() : accelerator.type(), true));
    TORCH_CHECK(!torch_has(accelerator), "this torch was built with ", name,
                ": it is used as it is, and cannot be simulated");
    TORCH_CHECK(count >= 1 && count <= kMaxDevices, "1 to ", kMaxDevices,
                " devices can be simulated, not ", count);
    present = &accelerator;
    simulated_devices = count;
    const auto& keys = accelerator.keys();
    c10::SetAllocator(accelerator.type(), &allocator());
    install_guard();
    accelerator.install_hooks();
    torch::Library& dense = library(keys.dense);
    accelerator.add_kernels(dense);
    add_dense_kernels(dense, library(keys.autograd));
    add_sparse_kernels(library(keys.sparse));
    add_compressed_kernels(library(keys.sparse_csr));
    add_quantized_kernels(library(keys.quantized));
    register_operators(accelerator.operators());
    accelerator.add_fallback();
}

const Accelerator* installed() noexcept { return present; }

const Accelerator& accelerator() noexcept { return *present; }

int device_count() noexcept { return simulated_devices; }

int current_device() noexcept { return current; }

void check_index(int index) {
    if (index < 0 || index >= simulated_devices) present->refuse_index(index);
}

int exchange_device(int index) {
    check_index(index);
    return std::exchange(current, index);
}

c10::Device with_index(c10::Device device) noexcept {
    return device.has_index() ? device : present->device(current);
}

DeviceScope::DeviceScope(c10::Device device)
    : before_(device.has_index() ? exchange_device(device.index()) : current) {}

DeviceScope::~DeviceScope() { current = before_; }

}  // namespace compat::shim::simulate
