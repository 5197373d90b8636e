"""Random numbers on the pretended device are reproducible, however the seed is set."""

import unittest

import torch

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
        torch.cuda.manual_seed(11)
        self.assertEqual(torch.cuda.initial_seed(), 11)

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
