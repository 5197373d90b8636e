import torch

from trainer import DEVICE
from trainer.data import batches
from trainer.model import build


def train(model=None, epochs=2, lr=0.01, amp=False):
    model = model or build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cuda", enabled=amp and torch.cuda.is_available())
    losses = []
    for _ in range(epochs):
        for x, y in batches():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(DEVICE.type, dtype=torch.bfloat16 if DEVICE.type == "cpu" else torch.float16, enabled=amp):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return model, losses


def accuracy(model):
    with torch.no_grad():
        right = [(model(x).argmax(dim=1) == y).float().mean().item() for x, y in batches()]
    return sum(right) / len(right)


def save(model, path):
    torch.save({"model": model.state_dict(), "rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []}, path)


def load(path):
    saved = torch.load(path, map_location=DEVICE, weights_only=True)
    model = build()
    model.load_state_dict(saved["model"])
    return model
