#!/usr/bin/env bash
# tokenizers 0.23.3: a Tokenizer that is trained a second time, with fewer special tokens, keeps
# those of the first training under their old ids and gives the same ids to new words. Texts then
# encode, and decode to nothing, as the ids of ordinary words belong to special tokens, too. No
# error, no warning; with BPE, Unigram, WordLevel and WordPiece alike. Saving and loading cures it
# by moving the special tokens to new ids, so that one object and its own copy disagree on them,
# and a model's embedding of <pad> is that of a word before it and none after it. The way out is a
# new Tokenizer for each training.
#
# Seen, on Python 3.11 (0.22.2 prints the same):
#   BPE: ['x', 'y', 'z'] is decoded as '', and by the saved one as 'x y z'
#     <pad> is 1, as is a word; of the saved one 4
#   Unigram: ['x', 'y', 'z'] is decoded as '', and by the saved one as 'x y z'
#     <pad> is 1, as is a word; of the saved one 4
#   WordLevel: ['x', 'y', 'z'] is decoded as '', and by the saved one as 'x y z'
#     <pad> is 1, as is a word; of the saved one 4
#   WordPiece: ['x', 'y', 'z'] is decoded as '', and by the saved one as 'x y z'
#     <pad> is 1, as is a word; of the saved one 4
#
# Exits with 1 if that changes. Needs python3 (3.10 to 3.14).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q tokenizers==0.23.3

cat > "$folder/program.py" <<'PROGRAM'
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

KINDS = {
    "BPE": (models.BPE(unk_token="<unk>"), trainers.BpeTrainer, {}),
    "Unigram": (models.Unigram(), trainers.UnigramTrainer, {"unk_token": "<unk>"}),
    "WordLevel": (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, {}),
    "WordPiece": (models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer, {}),
}
for name, (model, trainer, options) in KINDS.items():
    one = Tokenizer(model)
    one.pre_tokenizer = pre_tokenizers.Whitespace()
    for text, special in (("ab ab cd", ["<unk>", "<pad>", "<s>", "</s>"]), ("x y z", ["<unk>"])):
        made = trainer(special_tokens=special, vocab_size=60, show_progress=False, **options)
        one.train_from_iterator([text] * 9, made)
    saved = Tokenizer.from_str(one.to_str())
    words = one.encode("x y z")
    print(f"{name}: {words.tokens} is decoded as {one.decode(words.ids)!r}, "
          f"and by the saved one as {saved.decode(words.ids)!r}")
    pad = one.token_to_id("<pad>")
    also = [token for token, number in one.get_vocab().items() if number == pad and token in words.tokens]
    print(f"  <pad> is {pad}{', as is a word' if also else ''}; of the saved one {saved.token_to_id('<pad>')}")
PROGRAM

"$folder/venv/bin/python" "$folder/program.py" | tee "$folder/seen"

sed -n '/^# Seen/,/^#$/p' "${BASH_SOURCE[0]}" | sed -n 's/^#   //p' | diff - "$folder/seen" || {
    echo "this has changed" >&2
    exit 1
}
