"""Parts of datasets: their columns and values, pictures, sounds, videos and other single files.

Not here: which request has which answer (repositories.py and media.py, in the folder above).
"""
