"""Counts of vehicles at sensors, in windows, copied to the GPU ahead of the step that needs them."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    """Windows of `length` hours and the hour after each, from counts[hour, sensor]."""

    def __init__(self, counts, length=12):
        counts = np.asarray(counts)
        self.mean, self.std = counts.mean(0), counts.std(0) + 1e-6
        self.counts = torch.from_numpy((counts - self.mean) / self.std)
        self.length = length

    def unscale(self, forecast):
        """Vehicles an hour, from a forecast[…, sensor]."""
        return forecast * torch.from_numpy(self.std) + torch.from_numpy(self.mean)

    def __len__(self):
        return len(self.counts) - self.length

    def __getitem__(self, start):
        end = start + self.length
        return self.counts[start:end], self.counts[end]


def synthetic_counts(hours=96, sensors=8, seed=0):
    """Two rush hours a day, and noise."""
    random = np.random.default_rng(seed)
    hour = np.arange(hours)[:, None]
    rush = np.exp(-((hour % 24 - 8) ** 2) / 6) + np.exp(-((hour % 24 - 17) ** 2) / 8)
    return 100 + 400 * rush * random.uniform(0.5, 1.5, (1, sensors)) + random.normal(0, 10, (hours, sensors))


def batches(windows, batch_size=16, shuffle=True):
    return DataLoader(windows, batch_size=batch_size, shuffle=shuffle, pin_memory=True)


class Prefetcher:
    """Copies the next batch on a stream of its own while the GPU works on this one."""

    def __init__(self, loader):
        self.loader = loader
        self.stream = torch.cuda.Stream()

    def __iter__(self):
        ready = None
        for batch in self.loader:
            with torch.cuda.stream(self.stream):
                copied = [x.cuda(non_blocking=True).float() for x in batch]
            if ready is not None:
                yield ready
            torch.cuda.current_stream().wait_stream(self.stream)
            ready = copied
        if ready is not None:
            yield ready
