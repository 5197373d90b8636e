def broken():
    raise ValueError("at import")


broken()
