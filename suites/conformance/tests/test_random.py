"""Random numbers on the pretended device are reproducible, however the seed is set."""

import threading
import unittest

import torch
from torch.utils.checkpoint import checkpoint

from conformance import ConformanceTest


def draw():
    return torch.rand(4, device="cuda").tolist()


class RandomTest(ConformanceTest):
    def test_seeds(self):
        for seed in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
            with self.subTest(seed.__name__):
                seed(3)
                first = draw()
                self.assertNotEqual(draw(), first)
                seed(3)
                self.assertEqual(draw(), first)

    def test_initial_seed(self):
        torch.manual_seed(10)
        torch.cuda.manual_seed(11)
        self.assertEqual(torch.cuda.initial_seed(), 11)
        self.assertEqual(torch.initial_seed(), 10)

    def test_the_cpus_numbers_stay_what_they_are(self):
        torch.manual_seed(7)
        expected = torch.rand(8).tolist()
        for between in (
            lambda: torch.cuda.manual_seed(1),
            lambda: torch.cuda.manual_seed_all(2),
            lambda: torch.cuda.seed(),
            draw,
            lambda: torch.empty(5, device="cuda").normal_(),
            lambda: torch.randn_like(torch.ones(2), device="cuda"),
            lambda: torch.cuda.set_rng_state(torch.cuda.get_rng_state()),
        ):
            torch.manual_seed(7)
            first = torch.rand(4).tolist()
            between()
            self.assertEqual(first + torch.rand(4).tolist(), expected)

    def test_filling_a_tensor_of_cuda_draws_as_making_one(self):
        other = torch.ones(4, device="cuda")
        for seed in (torch.cuda.manual_seed, torch.manual_seed):
            for fill in (
                lambda: torch.empty(4, device="cuda").uniform_(),
                lambda: other.new_empty(4).uniform_(),
                lambda: torch.rand_like(other),
            ):
                seed(9)
                made = draw()
                seed(9)
                self.assertEqual(fill().tolist(), made)

    def test_drawing_on_cuda_gives_what_the_cpu_would_give_for_its_seed(self):
        torch.manual_seed(21)
        on_cuda = torch.randn(5, device="cuda")
        torch.manual_seed(21)
        self.assertTrue(torch.equal(on_cuda, torch.randn(5)))

    def test_threads_share_the_default_generator(self):
        torch.cuda.manual_seed(4)
        expected = [draw(), draw()]
        torch.cuda.manual_seed(4)
        drawn = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: drawn.append(draw()))
            thread.start()
            thread.join()
        self.assertEqual(drawn, expected)

    def test_checkpointed_code_draws_the_same_again(self):
        def masked(x):
            return x * (torch.rand(64, device="cuda") > 0.5)

        for reentrant in (True, False):
            with self.subTest(reentrant=reentrant):
                leaf = torch.ones(64, requires_grad=True)
                result = checkpoint(masked, leaf, use_reentrant=reentrant)
                torch.rand(9, device="cuda")
                result.sum().backward()
                self.assertTrue(torch.equal(leaf.grad, result.detach()))

    def test_states(self):
        state = torch.cuda.get_rng_state()
        first = draw()
        torch.cuda.set_rng_state(state)
        self.assertEqual(draw(), first)
        states = torch.cuda.get_rng_state_all()
        self.assertEqual(len(states), 1)
        torch.cuda.set_rng_state_all(states)

    def test_fork_rng(self):
        state = torch.cuda.get_rng_state()
        with torch.random.fork_rng():
            torch.manual_seed(99)
            draw()
        self.assertTrue(torch.equal(torch.cuda.get_rng_state(), state))

    def test_generators(self):
        def drawn(seed):
            generator = torch.Generator(device="cuda").manual_seed(seed)
            return torch.randn(3, generator=generator, device="cuda").tolist()

        self.assertEqual(drawn(1), drawn(1))
        self.assertNotEqual(drawn(1), drawn(2))

    def test_a_generator_draws_apart_from_the_default(self):
        torch.manual_seed(0)
        first = draw()
        torch.manual_seed(0)
        torch.randn(9, generator=torch.Generator(device="cuda"), device="cuda")
        self.assertEqual(draw(), first)

    def test_generators_are_recorded(self):
        added = self.recorded(lambda: torch.Generator(device="cuda"))
        self.assertEqual(list(added), [("redirect", "torch.Generator", "cuda", "cpu")])

    def test_in_place(self):
        generator = torch.Generator(device="cuda")
        target = torch.empty(3, device="cuda")
        one = target.normal_(generator=generator.manual_seed(4)).tolist()
        self.assertEqual(target.normal_(generator=generator.manual_seed(4)).tolist(), one)
        self.assertEqual(torch.randperm(4, generator=generator, device="cuda").numel(), 4)


if __name__ == "__main__":
    unittest.main()
