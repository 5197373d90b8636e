#!/usr/bin/env bash
# torch 2.13.0: a tensor that a DataLoader's worker process returns can arrive with another value.
# torch.fft.ihfft, torch.conj and .mH return a tensor that is conjugated when it is read, by a mark
# on it, and its .imag is negated in the same way. The way from a worker to the program sends the
# memory and not the mark, without an error or a warning. With num_workers=0 the value is right.
# Collated in a worker, such tensors raise an internal error; collated without one they are right.
# torch.save keeps the mark. torch 2.15.0 does the same.
#
# Seen, on the CPU, Python 3.11:
#   ihfft, 0 workers: [-0.0, 1.0, -0.0]
#   ihfft, 1 workers: [0.0, -1.0, 0.0]
#   ihfft, collated, 0 workers: [[-0.0, 1.0, -0.0]]
#   ihfft, collated, 1 workers: RuntimeError: DispatchKey Conjugate doesn't correspond to a device
#   imag of conj, 0 workers: [-2.0]
#   imag of conj, 1 workers: [2.0]
#   ihfft, torch.save and load: [-0.0, 1.0, -0.0]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5

cat > "$folder/program.py" <<'PROGRAM'
import io

import torch
from torch.utils.data import DataLoader, Dataset

signal = torch.tensor([0.0, 4.0, 0.0, 0.0])


class Spectra(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return torch.fft.ihfft(signal)


class MinusTwo(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        return torch.tensor([1 + 2j]).conj().imag


def tell(name, dataset, **options):
    for workers in (0, 1):
        try:
            [item] = DataLoader(dataset, num_workers=workers, **options)
            answer = item.imag.tolist() if item.is_complex() else item.tolist()
        except RuntimeError as error:
            answer = str(error).strip().splitlines()[-1]
        print(f"{name}, {workers} workers: {answer}")


tell("ihfft", Spectra(), batch_size=None)
tell("ihfft, collated", Spectra())
tell("imag of conj", MinusTwo(), batch_size=None)
file = io.BytesIO()
torch.save(torch.fft.ihfft(signal), file)
file.seek(0)
print("ihfft, torch.save and load:", torch.load(file).imag.tolist())
PROGRAM
"$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
