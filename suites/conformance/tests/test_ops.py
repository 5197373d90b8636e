"""Tests every op that takes a device, from torch's own list: on CUDA it gives the CPU's result and
is recorded under its name."""

import tempfile
import unittest

import torch

from conformance import ConformanceTest

# Their device is not a place to put a tensor, or they are TorchScript's own and no op.
NOT_REDIRECTED = {
    "aten::is_pinned": "the accelerator that page-locked memory is for",
    "aten::pin_memory": "the accelerator that page-locked memory is for",
    "aten::_pin_memory": "the accelerator that page-locked memory is for",
    "aten::eq.device": "compares two devices",
    "aten::ne.device": "compares two devices",
    "aten::as_tensor": "TorchScript's",
    "aten::tensor": "TorchScript's",
    "aten::Generator": "TorchScript's",
    "aten::to.prim_Device": "TorchScript's",
    "aten::_cudnn_init_dropout_state": "has no kernel on the CPU",
    "aten::_resize_output": "has no kernel on the CPU",
    "aten::_resize_output_": "has no kernel on the CPU",
}
ONES = torch.ones(3)
INDICES, VALUES = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
COMPRESSED, PLAIN = torch.tensor([0, 1, 2]), torch.tensor([0, 1])
BLOCKS = torch.ones(2, 1, 1)

# The value that is passed for an argument of this name, or else of this type.
BY_NAME = {
    "a": ONES,
    "axis": 0,
    "base": 10.0,
    "blocksize": [],
    "ccol_indices": COMPRESSED,
    "compressed_indices": COMPRESSED,
    "crow_indices": COMPRESSED,
    "col_indices": PLAIN,
    "dense_dim": 0,
    "dtype": torch.float32,
    "end": 5,
    "high": 7,
    "index_dtype": torch.int64,
    "indices": INDICES,
    "layout": None,
    "low": 2,
    "physical_layout": [0, 1],
    "plain_indices": PLAIN,
    "row_indices": PLAIN,
    "scales": torch.tensor([0.1, 0.2]),
    "size": [2, 2],
    "sparse_dim": 2,
    "start": 1,
    "steps": 4,
    "stride": [2, 1],
    "values": VALUES,
    "window_length": 6,
    "zero_points": torch.tensor([0, 0]),
}
BY_TYPE = {
    "Tensor": ONES,
    "List[Tensor]": [ONES, ONES],
    "int": 3,
    "number": 2,
    "float": 0.5,
    "bool": True,
    "Optional[Generator]": None,
    "Optional[List[str]]": None,
}
# Where the rules above do not do.
BY_OP = {
    "aten::_empty_affine_quantized": {"dtype": torch.quint8},
    "aten::_empty_per_channel_affine_quantized": {"dtype": torch.quint8},
    "aten::_sparse_bsc_tensor_unsafe": {"values": BLOCKS, "layout": torch.sparse_bsc},
    "aten::_sparse_bsr_tensor_unsafe": {"values": BLOCKS, "layout": torch.sparse_bsr},
    "aten::_sparse_compressed_tensor_unsafe": {"layout": torch.sparse_csr},
    "aten::_sparse_compressed_tensor_with_dims": {"layout": torch.sparse_csr},
    "aten::_sparse_coo_tensor_with_dims": {"layout": torch.sparse_coo},
    "aten::_sparse_coo_tensor_with_dims_and_tensors": {"layout": torch.sparse_coo},
    "aten::_sparse_csc_tensor_unsafe": {"layout": torch.sparse_csc},
    "aten::_sparse_csr_tensor_unsafe": {"layout": torch.sparse_csr},
    "aten::empty_quantized": {
        "qtensor": torch.quantize_per_tensor(ONES, 0.1, 0, torch.quint8),
        "dtype": torch.quint8,
    },
    "aten::randint_like.Tensor": {"high": torch.tensor(7)},
    "aten::randint_like.Tensor_generator": {"high": torch.tensor(7)},
    "aten::sparse_bsc_tensor.ccol_row_value": {"values": BLOCKS},
    "aten::sparse_bsc_tensor.ccol_row_value_size": {"values": BLOCKS},
    "aten::sparse_bsr_tensor.crow_col_value": {"values": BLOCKS},
    "aten::sparse_bsr_tensor.crow_col_value_size": {"values": BLOCKS},
    "aten::sparse_compressed_tensor.comp_plain_value": {"layout": torch.sparse_csr},
    "aten::sparse_compressed_tensor.comp_plain_value_size": {"layout": torch.sparse_csr},
    "aten::tril_indices": {"dtype": torch.int64},
    "aten::triu_indices": {"dtype": torch.int64},
}


def full_name(schema):
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def takes_a_device(schema):
    return any(str(argument.type) in ("Device", "Optional[Device]") for argument in schema.arguments)


def writes_to_out(schema):
    return any(argument.is_out for argument in schema.arguments)


def ops():
    """The schemas that this module is about."""
    return [
        schema
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("aten::")
        and takes_a_device(schema)
        and not writes_to_out(schema)
        and not {schema.name, full_name(schema)} & NOT_REDIRECTED.keys()
    ]


def argument_for(name, argument):
    special = BY_OP.get(name, {})
    if argument.name in special:
        return special[argument.name]
    kind = str(argument.type)
    if kind == "Tensor" and argument.name in ("start", "end"):
        return torch.tensor(2.0)
    if argument.name == "n" and kind == "int":
        return 3
    return BY_NAME[argument.name] if argument.name in BY_NAME else BY_TYPE[kind]


class OpsTest(ConformanceTest):
    def call(self, schema, device):
        name = full_name(schema)
        named = {}
        for argument in schema.arguments:
            if argument.name == "filename":
                value = self.file.name
            elif argument.name == "device":
                value = torch.device(device)
            elif argument.has_default_value() and argument.name not in {
                *BY_OP.get(name, {}), "dtype", "layout"
            }:
                continue
            else:
                value = argument_for(name, argument)
            named[argument.name] = value
        _, _, op = schema.name.partition("::")
        overload = getattr(getattr(torch.ops.aten, op), schema.overload_name or "default")
        torch.manual_seed(3)
        return overload(**named)

    def setUp(self):
        self.file = tempfile.NamedTemporaryFile()
        self.addCleanup(self.file.close)

    def test_there_are_many(self):
        self.assertGreater(len(ops()), 100)

    def test_every_op(self):
        unfilled = ("empty", "_make_dep_token", "with_dims")
        for schema in ops():
            name = full_name(schema)
            for device in ("cuda", "cuda:0", "mps"):
                with self.subTest(name, device=device):
                    expected = self.call(schema, "cpu")
                    made = []
                    added = self.recorded(
                        lambda s=schema, d=device, m=made: m.append(self.call(s, d))
                    )
                    self.assertIn(
                        (name, device, "cpu"), [(op, before, to) for _, op, before, to in added]
                    )
                    if not isinstance(expected, torch.Tensor):
                        continue
                    self.assertOnHost(made[0])
                    if expected.is_nested:
                        for one, other in zip(made[0].unbind(), expected.unbind(), strict=True):
                            self.assertTrue(torch.equal(one, other))
                        continue
                    self.assertEqual(
                        (made[0].shape, made[0].dtype, made[0].layout),
                        (expected.shape, expected.dtype, expected.layout),
                    )
                    if any(word in name for word in unfilled):
                        continue
                    same = torch.equal(made[0].to_dense(), expected.to_dense())
                    self.assertTrue(same, (made[0], expected))


if __name__ == "__main__":
    unittest.main()
