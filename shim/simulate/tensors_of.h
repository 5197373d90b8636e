// Tensors inside boxed values. A list that TorchScript made may have another element type than the
// schema. The interpreter refines the type (`Bool(*, device=…)`), or passes a list of tensors for
// one of optional tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace compat::shim::simulate {

[[nodiscard]] inline bool holds_tensors(const c10::IValue& value) {
    return value.isList() &&
           value.toList().elementType()->isSubtypeOf(*c10::OptionalType::ofTensor());
}

// Collectives take lists of lists.
[[nodiscard]] inline bool holds_lists_of_tensors(const c10::IValue& value) {
    if (!value.isList()) return false;
    const auto item = value.toList().elementType()->cast<c10::ListType>();
    return item && item->getElementType()->isSubtypeOf(*c10::OptionalType::ofTensor());
}

// Visits every defined tensor of a value, also in lists.
template <class See>
void each_tensor(const c10::IValue& value, See see) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) see(value.toTensor());
    } else if (holds_tensors(value)) {
        for (const c10::IValue& item : value.toListRef())
            if (item.isTensor() && item.toTensor().defined()) see(item.toTensor());
    } else if (holds_lists_of_tensors(value)) {
        for (const c10::IValue& list : value.toListRef()) each_tensor(list, see);
    }
}

template <class Item, class Change>
c10::IValue changed_list(const c10::IValue& value, Change change) {
    c10::List<Item> list;
    list.reserve(value.toListRef().size());
    std::size_t position = 0;
    for (const c10::IValue& item : value.toListRef()) {
        if (!item.isTensor())
            list.push_back(Item());
        else if (item.toTensor().defined())
            list.push_back(change(item.toTensor(), position++));
        else
            list.push_back(item.toTensor());
    }
    return list;
}

// Replaces every defined tensor by `change(tensor, position in its list)`. `optional`: whether a
// list's items are optional in the schema. The new list has that type, which unboxing requires.
template <class Change>
void change_tensors(c10::IValue& value, bool optional, Change change) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) value = change(value.toTensor(), 0);
    } else if (holds_tensors(value)) {
        value = optional ? changed_list<std::optional<at::Tensor>>(value, change)
                         : changed_list<at::Tensor>(value, change);
    } else if (holds_lists_of_tensors(value)) {
        c10::List<c10::List<at::Tensor>> lists;
        for (const c10::IValue& list : value.toListRef())
            lists.push_back(changed_list<at::Tensor>(list, change).toTensorList());
        value = std::move(lists);
    }
}

}  // namespace compat::shim::simulate
