"""The Python side of a torch built with CUDA, for the devices that it is given: redirection's
pretended one (redirect/devices.py) or simulated ones (simulate/cuda.py). `devices` in these modules
is a subclass of devices.Devices."""
