"""A small training library for CUDA, in the style of many projects. For tests/bench/porting.py."""
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
