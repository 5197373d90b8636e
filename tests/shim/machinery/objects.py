"""Custom ops, copies, and torch's own tools for tests and for people."""

import copy
import io
import pickle

import torch
from torch import nn

from .harness import data, set_weights

_kept = []  # a torch.library.Library takes its ops along when it is freed


def _composite(name, device):
    library = torch.library.Library("machinery", "FRAGMENT")
    library.define(f"{name}(int n, Device device) -> Tensor")
    library.impl(
        name, lambda n, device: torch.ones(n, device=device) * 2, "CompositeImplicitAutograd"
    )
    _kept.append(library)
    return getattr(torch.ops.machinery, name)(3, device)


def op_with_a_device(device):
    return _composite("doubled", device)


def op_with_an_optional_device(device):
    library = torch.library.Library("machinery", "FRAGMENT")
    library.define("maybe(Tensor x, *, Device? device=None) -> Tensor")
    library.impl(
        "maybe",
        lambda x, *, device=None: x.to(device or "cpu") + torch.zeros(3, device=device),
        "CompositeExplicitAutograd",
    )
    _kept.append(library)
    maybe = torch.ops.machinery.maybe
    return [maybe(data(3), device=device), maybe(data(3))]


def op_of_kernels_by_device(device):
    """Kernels for "cpu" and "cuda" apart: without a CUDA tensor the CPU's is the one that runs."""

    @torch.library.custom_op("machinery::scaled", mutates_args=(), device_types="cpu")
    def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    @scaled.register_kernel("cuda")
    def _(x, by):
        raise AssertionError("no tensor is on CUDA")

    @scaled.register_fake
    def _(x, by):
        return torch.empty_like(x)

    scaled.register_autograd(lambda ctx, grad: (grad * 2, None))
    x = data(3).to(device).requires_grad_()
    y = scaled(x, 2.0)
    y.sum().backward()
    torch.library.opcheck(scaled, (data(3).to(device), 2.0))
    return [y, x.grad]


def custom_op_makes_tensors(device):
    @torch.library.custom_op("machinery::ramp", mutates_args=())
    def ramp(n: int, device: torch.device) -> torch.Tensor:
        return torch.arange(float(n), device=device)

    @ramp.register_fake
    def _(n, device):
        return torch.empty(n, device=device)

    compiled = torch.compile(lambda n: ramp(n, torch.device(device)) + 1, backend="aot_eager")
    return [ramp(3, torch.device(device)), compiled(4)]


def deep_copies_and_pickles(device):
    layer = set_weights(nn.Linear(3, 2)).to(device)
    copied = copy.deepcopy(layer)
    pickled = pickle.loads(pickle.dumps(layer))
    x = data(2, 3).to(device)
    assert pickle.loads(pickle.dumps(torch.device(device))) == torch.device(device)
    return [copied(x), pickled(x), pickle.loads(pickle.dumps(x)), copy.copy(x)]


def saved_and_loaded(device):
    layer = set_weights(nn.Linear(3, 2)).to(device)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(data(2, 3).to(device)).sum().backward()
    optimizer.step()
    stream = io.BytesIO()
    torch.save({"layer": layer.state_dict(), "optimizer": optimizer.state_dict()}, stream)
    answers = []
    for where in (device, torch.device(device), lambda storage, _: storage, None):
        stream.seek(0)
        loaded = torch.load(stream, map_location=where)
        answers.append([loaded["layer"], loaded["optimizer"]["state"]])
    return answers


def module_moves(device):
    net = set_weights(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    net.to(device)
    net.to(device=torch.device(device), dtype=torch.float64)
    empty = nn.Linear(3, 3, device="meta").to_empty(device=device)
    return [net(data(4, 3).to(device, torch.float64)), list(empty.weight.shape)]


def skip_init(device):
    return list(torch.nn.utils.skip_init(nn.Linear, 3, 4, device=device).weight.shape)


def environment_is_collected(device):
    """People paste it into reports; what it says of devices differs, that it says so does not."""
    from torch.utils import collect_env

    said = collect_env.get_pretty_env_info()
    return [line.split(":")[0] for line in said.splitlines() if line.startswith("PyTorch version")]


def assert_close(device):
    made = torch.ones(3, device=device)
    torch.testing.assert_close(made, torch.ones(3).to(device))
    try:
        torch.testing.assert_close(made, torch.zeros(3, device=device))
    except AssertionError as error:
        return str(error)


def make_tensor(device):
    made = torch.testing.make_tensor(4, 5, device=device, dtype=torch.float32, low=0, high=1)
    return [list(made.shape), bool((made >= 0).all() and (made <= 1).all())]


def torchs_own_test_helpers(device):
    from torch.testing._internal import common_cuda, common_device_type, common_utils

    class Own(common_utils.TestCase):
        def test_device(self, device):
            self.assertEqual(torch.ones(2, device=device), torch.ones(2).to(device))

    made = {"Own": Own}
    common_device_type.instantiate_device_type_tests(Own, made, only_for=device)
    (cls,) = made.values()
    outcome = common_utils.unittest.TestResult()
    common_utils.unittest.defaultTestLoader.loadTestsFromTestCase(cls).run(outcome)
    assert common_cuda.TEST_CUDA == torch.cuda.is_available()
    return [outcome.testsRun, [text for _, text in outcome.failures + outcome.errors]]
