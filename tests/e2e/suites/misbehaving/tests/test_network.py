"""Opens sockets: to itself, to the host's loopback and to an address outside."""
import os
import socket
import unittest


class Network(unittest.TestCase):
    def test_own_loopback(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname(), timeout=5) as client:
                server.accept()[0].sendall(b"x")
                self.assertEqual(client.recv(1), b"x")

    def test_loopback_of_the_host(self):
        port = int(os.environ["MISBEHAVING_PORT"])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()

    def test_address_outside(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            any_socket.connect(("198.51.100.1", 9))  # TEST-NET-2: a route is enough, no packet is sent

    @unittest.skipUnless(os.environ.get("MISBEHAVING_LOOKUP"), "takes long where no server answers")
    def test_name_outside(self):
        socket.create_connection(("example.invalid", 443), timeout=5)
