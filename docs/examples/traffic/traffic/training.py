"""The training loop: mixed precision, gradient scaling, checkpoints."""

import torch
import torch.nn.functional as F

from traffic.data import Prefetcher, batches


def train(model, windows, epochs=2, lr=1e-2, seed=0):
    """Train on the GPU. Returns the mean loss of each epoch."""
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scaler = torch.cuda.amp.GradScaler()
    losses = []
    for _ in range(epochs):
        total = torch.zeros((), device="cuda")
        steps = 0
        for counts, target in Prefetcher(batches(windows)):
            optimizer.zero_grad()
            with torch.cuda.amp.autocast():
                loss = F.mse_loss(model(counts), target)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.detach()
            steps += 1
        losses.append((total / steps).item())
    torch.cuda.synchronize()
    return losses


def evaluate(model, windows):
    """The mean absolute error, in vehicles an hour."""
    std = torch.from_numpy(windows.std).cuda().float()
    error = []
    with torch.no_grad():
        for counts, target in Prefetcher(batches(windows, shuffle=False)):
            error.append(((model(counts) - target).abs() * std).mean())
    return torch.stack(error).mean().item()


def save(model, path):
    torch.save({"model": model.state_dict(), "rng": torch.cuda.get_rng_state()}, path)


def load(model, path):
    state = torch.load(path, map_location="cuda:0", weights_only=True)
    model.load_state_dict(state["model"])
    return model.to("cuda")


def peak_memory():
    """The peak of the GPU's memory, in MiB."""
    return torch.cuda.max_memory_allocated() / 2**20
