"""Train on synthetic counts:  python train.py --epochs 3"""

import argparse

import torch

from traffic.data import Windows, synthetic_counts
from traffic.model import Forecaster, count_parameters
from traffic.training import evaluate, peak_memory, save, train


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", default="model.pt")
    args = parser.parse_args()
    assert torch.cuda.is_available(), "traffic needs a GPU"
    torch.manual_seed(0)
    windows = Windows(synthetic_counts())
    model = Forecaster(sensors=8)
    print(f"{count_parameters(model)} parameters on {torch.cuda.get_device_name()}")
    for epoch, loss in enumerate(train(model, windows, args.epochs)):
        print(f"epoch {epoch}: loss {loss:.3f}")
    print(f"mean error {evaluate(model, windows):.0f} vehicles an hour, peak memory {peak_memory():.0f} MiB")
    save(model, args.out)


if __name__ == "__main__":
    main()
