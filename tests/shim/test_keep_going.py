"""Tests a simulated device that keeps going: what it refuses is written down and computed on the CPU."""
import pytest


def device(name):
    return {"TORCHDEVICE_SIMULATE": name}


GOING = {"TORCHDEVICE_MODE": "none", "TORCHDEVICE_KEEP_GOING": "on"}
# Expression and the beginning of what the device says.
REFUSED = {
    "mps": [
        ("torch.linalg.eig(x)", "NotImplementedError: The operator 'aten::linalg_eig'"),
        ("torch.ones(2, dtype=torch.float64, device=d)", "TypeError: Cannot convert a MPS Tensor to float64"),
        ("x.double() @ x.double()", "TypeError: Cannot convert a MPS Tensor to float64"),
        ("x.sum(dtype=torch.float64)", "TypeError: Cannot convert a MPS Tensor to float64"),
        ("torch.linalg.inv(x.to(torch.complex64))", "RuntimeError: "),
        ("x + torch.ones(3)", "RuntimeError: Expected all tensors to be on the same device"),
        ("x.numpy()", "TypeError: can't convert mps:0 device type tensor to numpy"),
    ],
    "cuda": [
        ("x.long() @ x.long()", "NotImplementedError: \"addmm_cuda\" not implemented for 'Long'"),
        ("x + torch.ones(3)", "RuntimeError: Expected all tensors to be on the same device"),
        ("torch.mm(torch.ones(3, 3), x)", "RuntimeError: Expected all tensors to be on the same device"),
        ("x[torch.tensor([True, False, True])] .index_put_((torch.tensor([0]),), torch.ones(3))",
         "RuntimeError: Expected all tensors to be on the same device"),
        ("x.numpy()", "TypeError: can't convert cuda:0 device type tensor to numpy"),
    ],
}


@pytest.mark.parametrize("name", ["mps", "cuda"])
def test_refusals_are_written_down_with_their_line_and_the_result_is_the_cpus(warm_child, name):
    cases = REFUSED[name]
    lines = ["import torch", f"d = '{name}'", "x = torch.eye(3, device=d) * 2", "c = torch.eye(3) * 2", "same = []"]
    for expression, _ in cases:
        on_cpu = expression.replace("x.", "c.").replace("x +", "c +").replace("x[", "c[").replace(", x)", ", c)")
        on_cpu = on_cpu.replace("(x)", "(c)").replace(", device=d", "")
        lines.append(f"a = {expression}; b = {on_cpu}")
        lines.append("a, b = (t[0] if isinstance(t, tuple) else torch.as_tensor(t) for t in (a, b))")
        lines.append("same.append(torch.equal(a.cpu(), b))")
    lines.append("print(all(same), len(same))")
    ran = warm_child("\n".join(lines) + "\n", env={**device(name), **GOING, "PYTORCH_ENABLE_MPS_FALLBACK": "0"})
    assert ran.stdout.strip() == f"True {len(cases)}", ran.stdout + ran.stderr
    refused = {line["line"]: line["message"] for line in ran.record if line.get("kind") == "refusal"}
    for i, (expression, message) in enumerate(cases):
        assert refused.get(6 + 3 * i, "").startswith(message), (expression, refused)
    assert [line["keep_going"] for line in ran.record if line["event"] == "session"] == [True]


def test_training_goes_on_where_the_backward_pass_is_refused(warm_child):
    script = """
import torch
model = torch.nn.Linear(4, 4).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = torch.nn.functional.pdist(model(torch.eye(4, device="mps"))).sum()
    loss.backward()
    optimizer.step()
print(loss.device.type, all(p.grad is not None for p in model.parameters()))
"""
    ran = warm_child(script, env={**device("mps"), **GOING, "PYTORCH_ENABLE_MPS_FALLBACK": "0"})
    assert ran.stdout.strip() == "mps True", ran.stdout + ran.stderr
    refused = {line["op"] for line in ran.record if line.get("kind") == "refusal" and "message" in line}
    assert refused == {"aten::_pdist_forward", "aten::_pdist_backward"}


def test_what_leaves_nothing_to_compute_is_still_raised(warm_child):
    script = "import torch\nfor make in (lambda: torch.ones(1, device='mps:3'), lambda: torch.mps.compile_shader('')):\n" \
             "    try:\n        make()\n    except (RuntimeError, NotImplementedError) as error:\n        print(type(error).__name__)\n"
    ran = warm_child(script, env={**device("mps"), **GOING})
    assert len(ran.stdout.split()) == 2, ran.stdout + ran.stderr


def test_without_a_simulated_device_it_says_nothing(warm_child):
    ran = warm_child("import torch; print(torch.ones(1, device='cuda').device)", env={"TORCHDEVICE_KEEP_GOING": "on"})
    assert ran.stdout.strip() == "cpu", ran.stdout + ran.stderr
    assert not any("keep_going" in line for line in ran.record)
