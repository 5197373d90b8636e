import torch

if torch.cuda.is_available(:
    pass
