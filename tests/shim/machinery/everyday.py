"""Everyday code with tensors for which it asked for no device, or for the CPU. Under mode `full`
all of it is on the accelerator, and still works. Random results are compared with themselves."""

import copy
import io
import pickle

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

from .harness import data, set_weights


def _without_devices(text):
    return text.replace(", device='mps:0'", "")


def printing(_):
    tensors = (torch.arange(5.0), torch.arange(3), data(2, 3) * 1e6, torch.tensor([True]), data(2) + 1j)
    return [_without_devices(repr(each)) for each in tensors]


def numpy_reads(_):
    x = data(2, 3)
    return [x.numpy().tolist(), np.asarray(x).sum().item(), x.cpu().numpy().shape[0], np.add(x, 1).tolist()]


def numpy_shares(_):
    array = np.zeros(3, np.float32)
    x, raw = torch.from_numpy(array), bytearray(8)
    array[1] = 5
    y = torch.frombuffer(raw, dtype=torch.float32)
    raw[:4] = np.float32(2).tobytes()
    return [x, y, copy.deepcopy(x), torch.tensor(array), torch.as_tensor([array[1].item()])]


class _Arrays(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"array": np.full(2, index, np.float64), "float": index / 2, "int": index}


def _batches(dataset, **options):
    torch.manual_seed(0)
    return [batch for batch in DataLoader(dataset, batch_size=2, **options)]


def batches(_):
    tensors = TensorDataset(data(4, 2), torch.arange(4))
    return [_batches(tensors), _batches(_Arrays())]


def batches_of_workers(_):
    tensors = TensorDataset(data(4, 2), torch.arange(4))
    return [_batches(tensors, num_workers=2), _batches(_Arrays(), num_workers=1)]


def shuffled_batches(_):
    seen = _batches(TensorDataset(torch.arange(6)), shuffle=True)
    generator = torch.Generator().manual_seed(1)
    halves = random_split(range(6), [2, 4], generator=generator)
    return [sorted(int(each) for (batch,) in seen for each in batch), sorted(map(len, halves))]


def optimizers(_):
    results = []
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop,
                 torch.optim.Adagrad, torch.optim.NAdam, torch.optim.LBFGS):
        model = set_weights(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
        optimizer = make(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)

        def closure(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(data(5, 3)), data(5, 1))
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
            schedule.step()
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        results.append([round(model[0].weight.sum().item(), 4)])
    return results


def saving_and_loading(_):
    file = io.BytesIO()
    torch.save({"x": data(3), "model": set_weights(nn.Linear(2, 2)).state_dict()}, file)
    loaded = []
    for where in (None, "cpu", torch.device("cpu")):
        file.seek(0)
        loaded.append(list(torch.load(file, map_location=where)["model"].values()))
    return loaded


def copies(_):
    module = set_weights(nn.Linear(2, 2))
    return [copy.deepcopy(module).weight, pickle.loads(pickle.dumps(data(3))), copy.copy(data(2)),
            data(2).clone(), data(3).untyped_storage().nbytes(), data(2).untyped_storage().tolist()]


def seeds(_):
    torch.manual_seed(3)
    first = torch.rand(4)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    again = torch.equal(first, torch.rand(4))
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        torch.rand(2)
    own = [torch.rand(2, generator=torch.Generator().manual_seed(7)).tolist() for _ in range(2)]
    return [again, own[0] == own[1], sorted(torch.randperm(5).tolist())]


def packed_sequences(_):
    rnn = set_weights(nn.LSTM(3, 4, batch_first=True))
    outputs = []
    for lengths in (torch.tensor([5, 3]), [5, 3]):
        packed = nn.utils.rnn.pack_padded_sequence(data(2, 5, 3), lengths, batch_first=True)
        output, _ = rnn(packed)
        padded, sizes = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        outputs.append([[round(each, 4) for each in padded.sum((0, 2)).tolist()], sizes.tolist()])
    unsorted = nn.utils.rnn.pack_sequence([data(2), data(3)], enforce_sorted=False)
    return [outputs, nn.utils.rnn.pad_packed_sequence(unsorted)[0]]


def to_the_cpu(_):
    module = set_weights(nn.Linear(2, 1)).cpu()
    return [module(data(3, 2).to("cpu")), data(2).cpu() + torch.ones(2, device="cpu")]


def distributions(_):
    normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    return [normal.log_prob(data(2)), list(normal.sample().shape)]


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.tensor([2.0, 2.0])


def gradients_by_the_way(_):
    """Code of the user's that a backward pass calls: hooks, recomputation, saved tensors."""
    from torch.utils.checkpoint import checkpoint

    x = data(3).requires_grad_()
    x.register_hook(lambda grad: grad * torch.full((3,), 2.0))
    y = checkpoint(lambda x: x * torch.ones(3) * 3, x, use_reentrant=False)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda saved: saved.tolist(), lambda values: torch.tensor(values)
    ):
        (y * y).sum().backward()
    return x.grad


def gradients(_):
    x = data(2).requires_grad_()
    _Twice.apply(x).sum().backward()
    table = set_weights(nn.Embedding(4, 2))
    (table(torch.tensor([1, 3])) * torch.ones(2)).sum().backward()
    return [x.grad, table.weight.grad]
