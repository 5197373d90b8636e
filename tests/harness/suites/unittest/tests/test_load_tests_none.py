def load_tests(loader, standard, pattern):
    return None
