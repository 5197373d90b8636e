def load_tests(loader, standard, pattern):
    raise ValueError("load_tests")
