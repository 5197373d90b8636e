#!/usr/bin/env bash
# datasets 5.2.0 with torch 2.13.0: interleave_datasets of iterable datasets forgets the format that
# with_format("torch") gave to each of them, and yields Python lists, without a warning. torch's
# DataLoader collates lists by their positions: each "row" of the batch below is a column, in
# float64. Where an example has as many values as a batch has examples, as here, not even the shape
# shows it. with_format is to "return a dataset with the specified format", and interleave_datasets
# takes "a list of Dataset objects, or a list of IterableDataset objects": with Dataset it keeps the
# format, and so does concatenate_datasets with both. with_format after interleave_datasets works.
#
# Seen, on the CPU, Python 3.11:
#   one, iterable: Tensor; batch of torch.float32 [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
#   concatenated, iterable: Tensor; batch of torch.float32 [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
#   interleaved: Tensor; batch of torch.float32 [[1, 2, 3], [1, 2, 3], [4, 5, 6]]
#   interleaved, iterable: list; batch of torch.float64 [[1, 1, 4], [2, 2, 5], [3, 3, 6]]
#   interleaved at random, iterable: list; batch of torch.float64 [[1, 1, 4], [2, 2, 5], [3, 3, 6]]
#   with_format once more: Tensor; batch of torch.float32 [[1, 2, 3], [1, 2, 3], [4, 5, 6]]
#
# Exits with 1 if that changes. Needs python3 (3.11 to 3.13) and the space of a torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --no-compile torch==2.13.0 numpy==2.3.5 datasets==5.2.0

cat > "$folder/program.py" <<'PROGRAM'
from datasets import Dataset, concatenate_datasets, interleave_datasets
from torch.utils.data import DataLoader

table = Dataset.from_dict({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]}).with_format("torch")
stream = table.to_iterable_dataset()
for name, dataset in {
    "one, iterable": stream,
    "concatenated, iterable": concatenate_datasets([stream, stream]),
    "interleaved": interleave_datasets([table, table]),
    "interleaved, iterable": interleave_datasets([stream, stream]),
    "interleaved at random, iterable": interleave_datasets([stream, stream], probabilities=[0.5, 0.5], seed=0),
    "with_format once more": interleave_datasets([stream, stream]).with_format("torch"),
}.items():
    example = next(iter(dataset))["x"]
    batch = next(iter(DataLoader(dataset, batch_size=3)))["x"]
    rows = [[int(value) for value in row] for row in batch]
    print(f"{name}: {type(example).__name__}; batch of {batch[0].dtype} {rows}")
PROGRAM
HF_HOME="$folder/hub" "$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/errors" | tee "$folder/seen" || {
    cat "$folder/errors" >&2
    exit 1
}

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
