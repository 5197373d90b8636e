"""Names like torch's that are the project's own: no sites but those that are marked."""
import torch


class Batch:
    def __init__(self, x):
        self.x = x

    def cuda(self):
        self.x = self.x.to("cuda")  # noqa: E501, CUDA001
        return self

    def again(self):
        return self.cuda()


class FakeTorch:
    class cuda:
        @staticmethod
        def is_available():
            return False


def cuda(x):
    return x


def synchronize():
    torch = FakeTorch()
    return torch.cuda.is_available()


def init_process_group(name):
    raise ValueError(f"no cuda for {name}", "cuda")


def use(names, torch_device="cpu"):
    batch = Batch(1)
    batch.cuda()
    cuda(batch)
    table = {"cpu": synchronize, "cuda": torch.cuda.synchronize}
    names["cuda"] = getattr(torch, "cuda")
    devices = ["cuda" for _ in names if "cuda" in torch_device]
    if torch.cuda.is_available():  # noqa: CUDA001
        devices = []
    text = "a sentence about cuda"
    assert batch.x.device.type == "cuda"
    return table, devices, text, "cuda".upper()
