#include "simulate/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

constexpr std::uint64_t kDraw = 4;  // a Philox offset moves in steps of four

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): seeds that
// differ by one give unrelated sequences.
std::uint64_t mixed(std::uint64_t value) noexcept {
    value += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
}

struct Numbers {
    std::uint64_t seed, offset = 0;
};

class DeviceGenerator final : public c10::GeneratorImpl {
  public:
    explicit DeviceGenerator(c10::Device device, std::uint64_t seed = c10::default_rng_seed_val)
        : GeneratorImpl(device, c10::DispatchKeySet(accelerator().keys().dense)),
          numbers_(std::make_shared<Numbers>(Numbers{seed})) {}

    void set_current_seed(std::uint64_t seed) override { *numbers_ = {seed}; }
    void set_offset(std::uint64_t offset) override {
        if (accelerator().traits().draws_by_fours)  // CUDAGeneratorImpl.cpp
            TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
        numbers_->offset = offset;
    }
    std::uint64_t get_offset() const override { return numbers_->offset; }
    std::uint64_t current_seed() const override { return numbers_->seed; }
    std::uint64_t seed() override {
        set_current_seed(c10::detail::getNonDeterministicRandom(true));
        return numbers_->seed;
    }
    // Seed and offset, as at the end of the states of CUDAGeneratorImpl and MPSGeneratorImpl.
    void set_state(const c10::TensorImpl& state) override {
        std::array<std::uint64_t, 2> words{};
        const std::size_t bytes = static_cast<std::size_t>(state.numel());
        TORCH_CHECK_TYPE(
            state.device().is_cpu() && state.dtype() == at::kByte && state.layout() == at::kStrided,
            "RNG state must be a torch.ByteTensor");
        TORCH_CHECK(bytes == sizeof words || bytes == sizeof words / 2, "RNG state is wrong size");
        std::memcpy(words.data(), state.data(), bytes);
        *numbers_ = {words[0], words[1]};
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        const std::array<std::uint64_t, 2> words{numbers_->seed, numbers_->offset};
        at::Tensor state = at::detail::empty_cpu({sizeof words}, at::kByte, {}, {}, {}, {});
        std::memcpy(state.mutable_data_ptr(), words.data(), sizeof words);
        return state.getIntrusivePtr();
    }
    // A generator over the same numbers, which a CUDA graph holds; MPS has none. As on CUDA, the
    // two are for one thread: each has a mutex of its own.
    c10::intrusive_ptr<GeneratorImpl> graphsafe_get_state() const override {
        if (!accelerator().traits().shares_numbers) return GeneratorImpl::graphsafe_get_state();
        auto shared = c10::make_intrusive<DeviceGenerator>(device());
        shared->numbers_ = numbers_;
        return shared;
    }
    void graphsafe_set_state(const c10::intrusive_ptr<GeneratorImpl>& state) override {
        if (!accelerator().traits().shares_numbers)
            return GeneratorImpl::graphsafe_set_state(state);
        auto* other = dynamic_cast<DeviceGenerator*>(state.get());
        TORCH_CHECK(other, "Expected a CUDA Generator");
        numbers_ = other->numbers_;
    }
    at::Generator lend() {
        const std::uint64_t seed = mixed(numbers_->seed ^ mixed(numbers_->offset));
        numbers_->offset += kDraw;
        return at::detail::createCPUGenerator(seed);
    }

  private:
    GeneratorImpl* clone_impl() const override {
        auto* copy = new DeviceGenerator(device());
        *copy->numbers_ = *numbers_;
        return copy;
    }

    std::shared_ptr<Numbers> numbers_;
};

}  // namespace

at::Generator new_generator(c10::Device device) {
    return at::make_generator<DeviceGenerator>(device);
}

const at::Generator& default_generator(int device) {
    static const auto* all = [] {
        auto* generators = new std::vector<at::Generator>();
        for (int i = 0; i < kMaxDevices; ++i)
            generators->push_back(at::make_generator<DeviceGenerator>(accelerator().device(i)));
        return generators;
    }();
    if (device < 0) device = current_device();
    check_index(device);
    return (*all)[static_cast<std::size_t>(device)];
}

at::Generator lend(const at::Generator& generator) {
    TORCH_CHECK(generator.device().type() == accelerator().type(), "Expected a '",
                c10::DeviceTypeName(accelerator().type(), true),
                "' device type for generator but found '",
                c10::DeviceTypeName(generator.device().type(), true), "'");
    auto* own = static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl());
    const std::lock_guard lock(own->mutex_);
    return own->lend();
}

}  // namespace compat::shim::simulate
