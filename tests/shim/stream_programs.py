"""Small programs that use several streams, for PyTorch's race check. Those of CORRECT have every wait
that they need. Those of RACES lack one: the comments "first" and "second" mark the two lines that
touch the same memory. Each is a function without arguments."""

import threading

import torch
from torch import nn
from torch.utils import checkpoint

CORRECT, RACES = [], []


def correct(program):
    CORRECT.append(program)


def race(program):
    RACES.append(program)


def cuda(*sizes, device="cuda"):
    return torch.ones(*sizes, device=device)


def current():
    return torch.cuda.current_stream()


def side(priority=0):
    """A stream that has waited for this one."""
    stream = torch.cuda.Stream(priority=priority)
    stream.wait_stream(current())
    return stream


def model():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 4)).cuda()


def train(net, inputs, optimizer=None, steps=3):
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(inputs).square().mean().backward()
        optimizer.step()


# Training.


@correct
def on_the_default_stream():
    train(model(), torch.randn(5, 8, device="cuda"))


@correct
def on_a_side_stream():
    net, inputs = model(), torch.randn(5, 8, device="cuda")
    stream = side()
    with torch.cuda.stream(stream):
        train(net, inputs)
    current().wait_stream(stream)
    train(net, inputs)


def with_optimizer(kind, **options):
    def program():
        net = model()
        train(net, cuda(5, 8), kind(net.parameters(), **options))

    return program


for name, options in {"foreach": {}, "for_loop": {"foreach": False}, "fused": {"fused": True}}.items():
    stepping = with_optimizer(torch.optim.AdamW, lr=0.1, **options)
    stepping.__name__ = f"adamw_{name}"
    correct(stepping)


@correct
def momentum_clipping_and_schedule():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        net(cuda(5, 8)).sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()


@correct
def autocast_with_gradient_scaling():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(cuda(5, 8)).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@correct
def gradients_are_accumulated():
    net = model()
    for _ in range(3):
        net(cuda(5, 8)).mean().backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()


@correct
def images():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).cuda()
    train(net, torch.randn(2, 3, 8, 8, device="cuda"))


@correct
def sequences():
    net = nn.LSTM(8, 4, num_layers=2, batch_first=True).cuda()
    for _ in range(2):
        net(torch.randn(2, 5, 8, device="cuda"))[0].sum().backward()


@correct
def words():
    table, head = nn.Embedding(10, 8).cuda(), nn.Linear(8, 10).cuda()
    tokens = torch.randint(0, 10, (2, 5), device="cuda")
    nn.functional.cross_entropy(head(table(tokens)).flatten(0, 1), tokens.flatten()).backward()


@correct
def attention():
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).cuda()
    train(net, torch.randn(2, 5, 8, device="cuda"))


@correct
def checkpointed_on_a_side_stream():
    net, inputs = model(), cuda(5, 8).requires_grad_()
    stream = side()
    with torch.cuda.stream(stream):
        checkpoint.checkpoint(net, inputs, use_reentrant=False).sum().backward()
    current().wait_stream(stream)
    inputs.grad.add_(1)


# Autograd orders the streams of forward and backward passes.


@correct
def backward_of_a_forward_pass_on_a_side_stream():
    net, inputs = model(), cuda(5, 8)
    stream = side()
    with torch.cuda.stream(stream):
        loss = net(inputs).sum()
    current().wait_stream(stream)
    loss.backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()


@correct
def backward_on_a_side_stream():
    net = model()
    loss = net(cuda(5, 8)).sum()
    stream = side()
    with torch.cuda.stream(stream):
        loss.backward()
    current().wait_stream(stream)
    torch.optim.SGD(net.parameters(), lr=0.1).step()


@correct
def branches_on_two_streams():
    weight = cuda(8, 8).requires_grad_()
    streams, losses = (side(), side()), []
    for stream in streams:
        with torch.cuda.stream(stream):
            losses.append((weight @ weight).mean())
    for stream in streams:
        current().wait_stream(stream)
    (losses[0] + losses[1]).backward()
    weight.grad.mul_(2)


@correct
def gradients_of_a_side_stream():
    weight = cuda(8).requires_grad_()
    stream = side()
    with torch.cuda.stream(stream):
        loss = (weight * 2).sum()
        (gradient,) = torch.autograd.grad(loss, [weight])
    current().wait_stream(stream)
    gradient.add_(1)


# Waits of every kind.


@correct
def wait_stream():
    x = cuda(4)
    stream = side()
    with torch.cuda.stream(stream):
        x.mul_(2)
    current().wait_stream(stream)
    x.add_(1)


@correct
def wait_event():
    x, stream = cuda(4), torch.cuda.Stream()
    stream.wait_event(current().record_event())
    with torch.cuda.stream(stream):
        x.mul_(2)
        done = torch.cuda.Event()
        done.record()
    current().wait_event(done)
    x.add_(1)


@correct
def event_wait():
    x, stream, ready, done = cuda(4), torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    ready.record()
    with torch.cuda.stream(stream):
        ready.wait()
        x.mul_(2)
    done.record(stream)
    done.wait()
    x.add_(1)


@correct
def event_synchronize():
    x, stream, done = cuda(4), side(), torch.cuda.Event(blocking=True)
    with torch.cuda.stream(stream):
        x.mul_(2)
        done.record()
    done.synchronize()
    x.add_(1)


@correct
def stream_synchronize():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)
    stream.synchronize()
    x.add_(1)


@correct
def device_synchronize():
    x, stream = cuda(4), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        x.mul_(2)
    torch.cuda.synchronize()
    x.add_(1)


@correct
def a_stream_made_after_the_host_waited():
    x = cuda(4)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream(priority=-1)):
        x.mul_(2)
    torch.cuda.synchronize()
    x.add_(1)


@correct
def streams_of_every_accelerator():
    x = cuda(4)
    stream, event = torch.Stream(device="cuda"), torch.Event(device="cuda")
    stream.wait_stream(torch.accelerator.current_stream())
    before = torch.accelerator.current_stream()
    torch.accelerator.set_stream(stream)
    x.mul_(2)
    event.record(stream)
    torch.accelerator.set_stream(before)
    before.wait_event(event)
    x.add_(1)
    torch.accelerator.synchronize()


@correct
def an_event_is_recorded_again():
    x, stream, event = cuda(4), torch.cuda.Stream(), torch.cuda.Event()
    for _ in range(3):
        event.record()
        stream.wait_event(event)
        with torch.cuda.stream(stream):
            x.mul_(2)
            event.record()
        event.wait()
        x.add_(1)


@correct
def timed():
    x, stream = cuda(4), side()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        begin.record()
        x.mul_(2)
        end.record()
    end.synchronize()
    begin.elapsed_time(end)
    x.add_(1)


@correct
def polled_and_awaited():
    x, stream, done = cuda(4), side(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        x.mul_(2)
        done.record()
    while not (done.query() and stream.query()):
        pass
    done.wait()
    x.add_(1)


@correct
def a_chain_of_streams():
    x, last = cuda(4), current()
    for _ in range(10):
        stream = torch.cuda.Stream()
        stream.wait_stream(last)
        with torch.cuda.stream(stream):
            x.add_(1)
        last = stream
    current().wait_stream(last)
    x.mul_(2)


@correct
def more_streams_than_the_pool_has():
    x = cuda(4)
    for _ in range(80):
        stream = side()
        with torch.cuda.stream(stream):
            x.add_(1)
        current().wait_stream(stream)
    x.sum()


@correct
def streams_inside_streams():
    x, outer = cuda(4), side()
    with torch.cuda.stream(outer):
        x.add_(1)
        inner = side(priority=-1)
        with torch.cuda.stream(inner):
            x.add_(1)
        outer.wait_stream(inner)
        x.add_(1)
    current().wait_stream(outer)
    x.add_(1)


@correct
def readers_need_no_order():
    x = cuda(4)
    streams = [side() for _ in range(4)]
    for stream in streams:
        with torch.cuda.stream(stream):
            x.sum()
    x.mean()
    for stream in streams:
        current().wait_stream(stream)
    x.add_(1)


@correct
def threads_with_a_stream_each():
    x, done = cuda(4), []

    def work():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            done.append(x * 2)
        stream.synchronize()

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sum(done).add_(1)


# The host waits for what it reads.


@correct
def item():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)
        x.sum().item()
    x.sum()
    current().wait_stream(stream)


@correct
def copies_to_the_host():
    x, y, stream = cuda(4), cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)
        (y + 1).cpu()
    x.add_(1)


@correct
def sizes_that_depend_on_values():
    for counts in (torch.nonzero, torch.unique, lambda x: x[x > 0], lambda x: x.masked_select(x > 0), torch.bincount):
        x, stream = torch.ones(4, dtype=torch.long, device="cuda"), side()
        with torch.cuda.stream(stream):
            x.mul_(2)
            counts(x + 1)
        x.add_(1)


@correct
def shown():
    x, stream = torch.randn(20, device="cuda"), side()
    with torch.cuda.stream(stream):
        x.mul_(2)
        repr(x)
        x.tolist()
        bool((x == x).all())
    x.sum()
    current().wait_stream(stream)


# Copies between host and device.


@correct
def a_prefetching_loader():
    batches = [torch.randn(5, 8).pin_memory() for _ in range(4)]
    stream, net = torch.cuda.Stream(), model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def fetched():
        for batch in batches:
            with torch.cuda.stream(stream):
                copy = batch.to("cuda", non_blocking=True)
            current().wait_stream(stream)
            copy.record_stream(current())
            yield copy

    for batch in fetched():
        optimizer.zero_grad()
        net(batch).sum().backward()
        optimizer.step()


@correct
def a_loader_with_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.randn(12, 8), torch.arange(12))
    net = model()
    for batch, _ in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        net(batch.to("cuda", non_blocking=True)).sum().backward()


@correct
def two_buffers_in_turn():
    stream, buffers = torch.cuda.Stream(), [cuda(4), cuda(4)]
    used = [current().record_event() for _ in buffers]
    for step in range(6):
        turn = step % 2
        with torch.cuda.stream(stream):
            stream.wait_event(used[turn])
            buffers[turn].copy_(torch.full((4,), float(step)).pin_memory(), non_blocking=True)
        current().wait_stream(stream)
        buffers[turn].sum()
        used[turn] = current().record_event()


@correct
def results_to_pinned_memory():
    x, stream, host = cuda(4), side(), torch.empty(4).pin_memory()
    with torch.cuda.stream(stream):
        host.copy_(x, non_blocking=True)
        done = stream.record_event()
    done.synchronize()
    assert host.sum() == 4
    current().wait_stream(stream)
    x.add_(1)


@correct
def parameters_come_from_the_host():
    net = model()
    net.load_state_dict({name: value.cpu() for name, value in net.state_dict().items()})
    train(net.cpu().cuda(), torch.randn(5, 8).cuda())


# Several devices.


@correct
def between_devices():
    x = cuda(4)
    y = x.to("cuda:1")
    y.mul_(2)
    x.copy_(y)
    x.add_(1)


@correct
def between_devices_on_side_streams():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)
        y = x.to("cuda:1", non_blocking=True)
    current().wait_stream(stream)
    x.add_(1)
    y.add_(1)


@correct
def replicas():
    halves = torch.nn.parallel.scatter(cuda(4, 8), [0, 1])
    torch.cat([(half * 2).to("cuda:0") for half in halves]).sum()


@correct
def a_pipeline_of_two_devices():
    first, second = nn.Linear(8, 8).to("cuda:0"), nn.Linear(8, 8).to("cuda:1")
    for micro in torch.randn(4, 8, device="cuda:0").split(1):
        second(first(micro).to("cuda:1")).sum().backward()


# Work that overlaps.


@correct
def gradients_are_reduced_while_others_are_computed():
    net, reducing = model(), torch.cuda.Stream()

    def reduce(parameter):
        reducing.wait_stream(current())
        with torch.cuda.stream(reducing):
            parameter.grad.div_(2)

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(reduce)
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(3):
        net(cuda(5, 8)).sum().backward()
        current().wait_stream(reducing)
        optimizer.step()
        optimizer.zero_grad()


@correct
def averaged_weights_on_a_side_stream():
    net, averaging = model(), torch.cuda.Stream()
    average = [parameter.detach().clone() for parameter in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(cuda(5, 8)).sum().backward()
        current().wait_stream(averaging)
        optimizer.step()
        averaging.wait_stream(current())
        with torch.cuda.stream(averaging):
            torch._foreach_lerp_(average, [parameter.detach() for parameter in net.parameters()], 0.1)
    current().wait_stream(averaging)


@correct
def parts_of_one_tensor():
    x, streams = cuda(4, 8), [side() for _ in range(4)]
    for row, stream in zip(x.unbind(), streams):
        with torch.cuda.stream(stream):
            row.mul_(2)
    for stream in streams:
        current().wait_stream(stream)
    x.chunk(2)[1].add_(1)


@correct
def results_into_given_tensors():
    x, out, stream = cuda(4), torch.empty(0, device="cuda"), side()
    with torch.cuda.stream(stream):
        torch.mul(x, 2, out=out)
    current().wait_stream(stream)
    torch.mul(x, 3, out=out)


# Memory.


@correct
def memory_is_used_again_on_its_stream():
    stream = torch.cuda.Stream()
    for _ in range(5):
        torch.empty(100, device="cuda")[1:].fill_(1)
        with torch.cuda.stream(stream):
            torch.empty(100, device="cuda")[1:].fill_(1)


@correct
def a_recorded_tensor_is_freed():
    for _ in range(3):
        x, stream = cuda(100), side()
        with torch.cuda.stream(stream):
            x[1:].sum()
        x.record_stream(stream)
        del x
        cuda(100)[1:].mul_(2)


@correct
def a_tensor_is_freed_after_a_wait():
    for _ in range(3):
        x, stream = cuda(100), side()
        with torch.cuda.stream(stream):
            y = x[1:] * 2
        current().wait_stream(stream)
        del x, y
        cuda(100)[1:].mul_(2)


@correct
def storages_are_resized():
    x, stream = cuda(100), side()
    with torch.cuda.stream(stream):
        x.sum()
    current().wait_stream(stream)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(400)
    x.fill_(1)


# Races.


@race
def read_without_a_wait():
    x, stream = torch.empty(4, device="cuda"), side()
    x.fill_(1)  # first
    with torch.cuda.stream(stream):
        x * 2  # second


@race
def written_while_read():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.sum()  # first
    x.add_(1)  # second


@race
def written_twice():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
    x.zero_()  # second


@race
def a_result_of_a_side_stream():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        y = x * 2  # first
    y.sum()  # second


@race
def an_event_recorded_too_early():
    x, stream, event = cuda(4), side(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        event.record()
        x.mul_(2)  # first
    event.wait()
    x.add_(1)  # second


@race
def an_event_that_was_not_recorded():
    x, stream, event = cuda(4), side(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
    event.wait()
    x.add_(1)  # second


@race
def an_event_recorded_on_another_stream():
    x, stream, event = cuda(4), side(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
    event.record()
    event.synchronize()
    x.add_(1)  # second


@race
def waits_for_another_stream():
    x, stream, other = cuda(4), side(), side()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
    current().wait_stream(other)
    x.add_(1)  # second


@race
def the_host_waits_for_another_stream():
    x, stream, other = cuda(4), side(), side()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
    other.synchronize()
    x.add_(1)  # second


@race
def a_query_is_no_wait():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        x.mul_(2)  # first
        done = stream.record_event()
    while not (done.query() and stream.query()):
        pass
    x.add_(1)  # second


@race
def a_loader_that_does_not_wait():
    stream, host = torch.cuda.Stream(), torch.ones(4).pin_memory()
    with torch.cuda.stream(stream):
        x = host.to("cuda", non_blocking=True)  # first
    x.sum()  # second


@race
def a_buffer_that_is_still_read():
    buffer, stream = cuda(4), torch.cuda.Stream()
    torch.cuda.synchronize()
    buffer.sum()  # first
    with torch.cuda.stream(stream):
        buffer.copy_(torch.ones(4).pin_memory(), non_blocking=True)  # second


@race
def overwritten_while_it_is_copied_to_the_host():
    x, stream, host = cuda(4), side(), torch.empty(4).pin_memory()
    with torch.cuda.stream(stream):
        host.copy_(x, non_blocking=True)  # first
    x.add_(1)  # second


@race
def read_by_item():
    x, stream = cuda(4), side()
    with torch.cuda.stream(stream):
        total = x.sum()  # first
    total.item()  # second


@race
def gradients_are_reduced_too_early():
    weight, reducing = cuda(4).requires_grad_(), torch.cuda.Stream()
    torch.cuda.synchronize()
    (weight * 2).sum().backward()
    weight.grad.mul_(1)  # first
    with torch.cuda.stream(reducing):
        weight.grad.div_(2)  # second


@race
def weights_are_averaged_during_a_step():
    weights, averaging = [cuda(4), cuda(4)], torch.cuda.Stream()
    average = [weight.clone() for weight in weights]
    averaging.wait_stream(current())
    with torch.cuda.stream(averaging):
        torch._foreach_lerp_(average, weights, 0.1)  # first
    torch._foreach_add_(weights, 1)  # second


@race
def a_forward_pass_beside_a_step():
    weight, stream = cuda(4, 4), torch.cuda.Stream()
    torch.cuda.synchronize()
    weight.add_(1)  # first
    with torch.cuda.stream(stream):
        nn.functional.linear(cuda(4), weight)  # second


@race
def a_part_of_a_tensor():
    x, stream = cuda(4, 4), side()
    with torch.cuda.stream(stream):
        x[2].mul_(2)  # first
    x[2].add_(1)  # second


@race
def two_streams_beside_the_default_one():
    x, one, other = cuda(4), side(), side()
    with torch.cuda.stream(one):
        x.mul_(2)  # first
    with torch.cuda.stream(other):
        x.mul_(2)  # second


@race
def on_the_second_device():
    x = cuda(4, device="cuda:1")
    with torch.cuda.device(1):
        stream = side()
        with torch.cuda.stream(stream):
            x.mul_(2)  # first
        x.add_(1)  # second


@race
def a_tensor_is_freed_too_early():
    x, stream = cuda(1000), side()
    with torch.cuda.stream(stream):
        x.sum()  # first
    del x
    torch.zeros(1000, device="cuda")  # second
