"""Parts of tokenizers: pieces of words, special tokens, files.

Not here: which class a type has (tokens.py, in the folder above).
"""
