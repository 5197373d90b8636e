import numpy as np
import torch

from traffic.data import Prefetcher, Windows, batches, synthetic_counts


def test_windows_overlap():
    windows = Windows(synthetic_counts(hours=20), length=12)
    assert len(windows) == 8
    assert torch.equal(windows[0][1], windows[1][0][-1])


def test_counts_are_scaled():
    counts = Windows(synthetic_counts()).counts
    assert abs(counts.mean().item()) < 1e-6


def test_prefetcher_keeps_the_order():
    windows = Windows(synthetic_counts())
    seen = torch.cat([target.cpu() for _, target in Prefetcher(batches(windows, shuffle=False))])
    expected = torch.stack([windows[i][1] for i in range(len(windows))])
    assert torch.allclose(seen, expected.float())


def test_unscale():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    windows = Windows(synthetic_counts())
    vehicles = windows.unscale(torch.zeros(3, 8, device=device))
    np.testing.assert_allclose(vehicles[0].cpu(), windows.mean)
