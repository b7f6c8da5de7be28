"""The native engine against PyTorch in float64, for networks, masks and batches of any shape."""

import os

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from parsity.data import Dataset
from parsity.engines import NativeEngine, Snapshot
from parsity.engines.native import native_available
from parsity.engines.native.library import runnable
from parsity.optimisation import Momentum, Nesterov, Rule, Sgd, make_rule

pytestmark = pytest.mark.skipif(not native_available(), reason="the native kernels are not built here")
CLASSES = 5


def dataset(shape, *, count=40, dtype=torch.uint8, seed=0) -> Dataset:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.uint8:
        images = torch.randint(0, 256, (count, *shape), generator=generator).to(torch.uint8)
    else:
        images = torch.randn(count, *shape, generator=generator).to(dtype)
    return Dataset.from_tensors(images, torch.randint(0, CLASSES, (count,), generator=generator))


def flat(network: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def beginning(weights, slots=1) -> Snapshot:
    return Snapshot(weights.clone(), tuple(torch.zeros_like(weights) for _ in range(slots)), ())


def in_float64(network, data, weights, mask, images):
    """Loss, gradient and margins, by PyTorch alone."""
    network = network.double()
    vector = weights.double() if mask is None else weights.double() * mask
    chunks = torch.split(vector, [parameter.numel() for parameter in network.parameters()])
    for parameter, chunk in zip(network.parameters(), chunks, strict=True):
        parameter.data = chunk.view(parameter.shape).clone()
    logits = network(data.normalise(data.images[images]).double())
    loss = F.cross_entropy(logits, data.labels[images])
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    gradient = torch.cat([part.flatten() for part in gradients])
    labels = data.labels[images][:, None]
    margins = logits.gather(1, labels) - logits.scatter(1, labels, -torch.inf).amax(1, keepdim=True)
    return loss.item(), gradient if mask is None else gradient * mask, margins.detach().squeeze(1)


def assert_agrees(network, data, mask, images, *, instruction_set=None, slice_size=None):
    weights = flat(network)
    engine = NativeEngine(network, data, instruction_set=instruction_set, slice_size=slice_size)
    replica = engine.replica(beginning(weights), mask=mask)
    loss, gradient = replica.gradient(images)
    margins = replica.margins(images)
    expected_loss, expected, expected_margins = in_float64(network, data, weights, mask, images)
    assert loss == pytest.approx(expected_loss, rel=1e-5, abs=1e-6)
    assert (gradient - expected).norm() <= 1e-5 * expected.norm() + 1e-7
    assert (margins - expected_margins).abs().max() <= 1e-5 * (1 + expected_margins.abs().max())
    if mask is not None:
        assert not gradient[~mask].any()


@st.composite
def convolutions(draw, channels, height, width):
    kernel = (draw(st.integers(1, min(6, height))), draw(st.integers(1, min(6, width))))
    padding = (draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return nn.Conv2d(
        channels, draw(st.integers(1, 19)), kernel, stride=stride, padding=padding, bias=draw(st.booleans())
    )


def size_after(module, shape):
    with torch.no_grad():
        return tuple(module(torch.zeros(1, *shape)).shape[1:])


@st.composite
def networks(draw):
    """One or two convolutions, each perhaps rectified and pooled, then a linear layer."""
    torch.manual_seed(draw(st.integers(0, 1000)))
    shape = image = (draw(st.integers(1, 3)), draw(st.integers(4, 13)), draw(st.integers(4, 13)))
    modules: list[nn.Module] = []
    for _ in range(draw(st.integers(1, 3))):
        stage: list[nn.Module] = [draw(convolutions(*shape))]
        if draw(st.booleans()):
            stage.append(nn.ReLU())
        _, height, width = size_after(nn.Sequential(*stage), shape)
        pools = [
            nn.Identity(),
            nn.MaxPool2d(2),
            nn.MaxPool2d(3, stride=2, padding=1),
            nn.AvgPool2d(2),
            nn.AvgPool2d((1, 2), stride=1, padding=(0, 1)),
            nn.ZeroPad2d((1, 0, 2, 1)),
        ]
        if min(height, width) >= 3:
            stage.append(draw(st.sampled_from(pools)))
        shape = size_after(nn.Sequential(*stage), shape)
        modules += stage
    network = nn.Sequential(*modules, nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], CLASSES))
    return image, network


@st.composite
def masks(draw, network):
    """None, or random survivors of any density, perhaps with whole filters and whole inputs pruned."""
    if draw(st.booleans()):
        return None
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    density = draw(st.sampled_from([0.02, 0.1, 0.3, 0.7, 1.0]))
    parts = []
    for parameter in network.parameters():
        part = torch.rand(parameter.shape, generator=generator) < density
        if parameter.dim() == 4 and draw(st.booleans()):
            part[draw(st.integers(0, len(part) - 1))] = False
            part[:, draw(st.integers(0, part.shape[1] - 1))] = False
        parts.append(part.flatten())
    return torch.cat(parts)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_any_network_any_mask(data):
    image, network = data.draw(networks())
    mask = data.draw(masks(network))
    size = data.draw(st.sampled_from([1, 2, 3, 4, 7, 8, 16, 17, 33]))
    kind = data.draw(st.sampled_from([torch.uint8, torch.float32, torch.float64]))
    images = torch.randint(0, 40, (size,), generator=torch.Generator().manual_seed(size))
    slice_size = data.draw(st.sampled_from([None, None, 5, 8, 32]))
    assert_agrees(network, dataset(image, dtype=kind), mask, images, slice_size=slice_size)


class Residual(nn.Module):
    """Every form the engine knows that a Sequential cannot express."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv1 = nn.Conv2d(2, channels, 3, padding="same")
        self.conv2 = nn.Conv2d(channels, channels + 2, 3, stride=stride, padding=1 if stride == 1 else 0)
        self.conv3 = nn.Conv2d(channels + 2, channels + 2, (3, 1), padding=(1, 0))
        self.linear = nn.Linear(channels + 2, CLASSES)

    def forward(self, images):
        hidden = torch.relu(self.conv1(images))
        shortcut = hidden if self.stride == 1 else F.avg_pool2d(hidden, 2)
        shortcut = F.pad(shortcut, (0, 0, 0, 0, 1, 1))
        if self.stride == 2:
            hidden = F.pad(hidden, (0, 1, 0, 1))
        hidden = self.conv3(self.conv2(hidden).relu()) + shortcut
        hidden = hidden + hidden
        return self.linear(F.dropout(F.relu(hidden), 0.0).mean((2, 3)))


@pytest.mark.parametrize("size", [1, 3, 7, 16, 17, 129])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("density", [1.0, 0.5, 0.1, 0.0])
def test_residual_networks(stride, size, density):
    torch.manual_seed(size)
    network = Residual(6 + stride, stride)
    mask = torch.rand(len(flat(network))) < density
    images = torch.randint(0, 40, (size,), generator=torch.Generator().manual_seed(size))
    assert_agrees(network, dataset((2, 8, 10)), mask, images)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
@example(None)
@pytest.mark.parametrize("instruction_set", runnable() or ["baseline"])
def test_every_instruction_set(instruction_set, data):
    if data is None:
        torch.manual_seed(1)
        image, network, mask = (2, 8, 10), Residual(17, 2), None
    else:
        image, network = data.draw(networks())
        mask = data.draw(masks(network))
    assert_agrees(network, dataset(image), mask, torch.arange(19), instruction_set=instruction_set)


def small_network(seed=3):
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Conv2d(1, 18, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(18, 20, 3, padding=1), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(20 * 2 * 2, CLASSES)),
    )


@pytest.mark.parametrize("density", [None, 0.5, 0.1])
@pytest.mark.parametrize("size", [2, 17])
def test_bit_equal_in_parts_and_again(density, size):
    network, data = small_network(), dataset((1, 11, 11))
    weights = flat(network)
    mask = None if density is None else torch.rand(len(weights), generator=torch.Generator().manual_seed(5)) < density
    engine = NativeEngine(network, data)
    rule = make_rule("nesterov", "constant", {"learning_rate": 0.05, "momentum": 0.9, "weight_decay": 1e-4})
    batches = [torch.randint(0, 40, (size,), generator=torch.Generator().manual_seed(i)) for i in range(12)]
    whole = engine.replica(beginning(weights), mask=mask)
    losses = whole.advance(batches, rule, 0)
    parts = engine.replica(beginning(weights), mask=mask)
    pieces = [parts.advance(batches[:5], rule, 0)]
    neighbour = engine.replica(beginning(weights * torch.nan))
    neighbour.advance([torch.arange(33)], rule, 0)
    saved = parts.snapshot()
    parts.advance(batches[5:8], rule, 5)
    parts.restore(saved)
    pieces.append(parts.advance(batches[5:8], rule, 5))
    again = NativeEngine(small_network(), data).replica(parts.snapshot(), mask=mask)
    pieces.append(again.advance(batches[8:], rule, 8))
    assert torch.equal(torch.cat(pieces), losses)
    assert torch.equal(again.snapshot().weights, whole.snapshot().weights)
    assert torch.equal(again.snapshot().slots[0], whole.snapshot().slots[0])
    if mask is not None:
        assert not whole.snapshot().weights[~mask].any()
        assert not whole.snapshot().slots[0][~mask].any()


# Channels whose gradient is zero for a whole slice are skipped, and nobody can tell from the numbers.
CANVAS = (2, 14, 13)


def network_of(form: str) -> nn.Sequential:
    """Three convolutions; the second is followed by a pooling, or strides, or neither."""
    torch.manual_seed(7)
    second = {
        "plain": [nn.Conv2d(18, 20, 3, padding=1), nn.ReLU()],
        "pooled": [nn.Conv2d(18, 20, 3), nn.ReLU(), nn.MaxPool2d(2)],
        "strided": [nn.Conv2d(18, 20, 3, stride=2, padding=1), nn.ReLU()],
    }[form]
    modules = [nn.Conv2d(2, 18, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), *second, nn.Conv2d(20, 17, 2), nn.ReLU()]
    with torch.no_grad():
        _, channels, height, width = nn.Sequential(*modules)(torch.zeros(1, *CANVAS)).shape
    return nn.Sequential(*modules, nn.Flatten(), nn.Linear(channels * height * width, CLASSES))


def kill(model: nn.Sequential, which: str) -> torch.Tensor:
    """Let biases hold some of every convolution's channels at zero; return which parameters are their filters'."""
    filters = []
    for parameter in model.parameters():
        filters.append(torch.zeros(parameter.shape, dtype=torch.bool))
        if parameter.dim() == 4:
            dead = torch.zeros(len(parameter), dtype=torch.bool)
            dead[{"none": slice(0), "one": slice(3, 4), "some": slice(0, None, 5), "all": slice(None)}[which]] = True
            filters[-1][dead] = True
        elif len(parameter) != CLASSES and parameter.dim() == 1:
            parameter.data[dead] = -1000
    return torch.cat([part.flatten() for part in filters])


def survivors(model: nn.Sequential, density: float) -> torch.Tensor:
    parts = []
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        part = torch.rand(parameter.shape, generator=generator) < density
        parts.append((part if parameter.dim() > 1 else torch.ones_like(part)).flatten())
    return torch.cat(parts)


@pytest.mark.parametrize("size", [1, 3, 16, 19, 40])
@pytest.mark.parametrize("density", [None, 0.5, 0.27, 0.1])
@pytest.mark.parametrize("which", ["none", "one", "some", "all"])
@pytest.mark.parametrize("form", ["plain", "pooled", "strided"])
def test_skipping_dead_channels_changes_nothing(form, which, density, size):
    model, data = network_of(form), dataset(CANVAS)
    filters = kill(model, which)
    mask = None if density is None else survivors(model, density)
    images = torch.randint(0, 40, (size,), generator=torch.Generator().manual_seed(size))
    if mask is not None and (density != 0.5 or size >= 16):
        # Pruned, these filters are in no list, so that there is nothing to skip: the same to the last bit. (Where that
        # leaves every pass as sparse or dense as it was.)
        engine, weights = NativeEngine(model, data), flat(model)
        loss, gradient = engine.replica(beginning(weights), mask=mask).gradient(images)
        pruned_loss, pruned = engine.replica(beginning(weights), mask=mask & ~filters).gradient(images)
        assert loss == pruned_loss
        assert torch.equal(gradient, pruned)
    assert_agrees(model, data, mask, images)


@pytest.mark.parametrize("density", [None, 0.1])
@pytest.mark.parametrize("form", ["plain", "pooled", "strided"])
@pytest.mark.parametrize("instruction_set", runnable() or ["baseline"])
def test_dead_channels_on_every_instruction_set(instruction_set, form, density):
    model = network_of(form)
    kill(model, "some")
    mask = None if density is None else survivors(model, density)
    assert_agrees(model, dataset(CANVAS), mask, torch.arange(19), instruction_set=instruction_set)


@pytest.mark.parametrize("density", [None, 0.35])
def test_shortcuts_keep_what_others_wrote(density):
    """A dead layer leaves its input's gradient alone where a shortcut has written to it."""

    class Shortcut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(2, 18, 3, padding=1), nn.Conv2d(18, 18, 3, padding=1)
            self.linear = nn.Linear(18, CLASSES)

        def forward(self, images):
            hidden = torch.relu(self.first(images))
            return self.linear((torch.relu(self.second(hidden)) + hidden).mean((2, 3)))

    torch.manual_seed(1)
    model = Shortcut()
    model.second.bias.data[:] = -1000
    mask = None if density is None else survivors(model, density)
    assert_agrees(model, dataset(CANVAS), mask, torch.arange(19))


def agrees_with_everything(model, canvas, density, size, slice_size=None):
    for instruction_set in runnable():
        mask = None if density is None else survivors(model, density)
        images = torch.randint(0, 40, (size,), generator=torch.Generator().manual_seed(size))
        assert_agrees(
            model.float(), dataset(canvas), mask, images, instruction_set=instruction_set, slice_size=slice_size
        )


@pytest.mark.parametrize("size", [2, 16, 19])
@pytest.mark.parametrize("density", [None, 0.5, 0.1])
@pytest.mark.parametrize(
    ("kernel", "padding"), [((1, 1), 0), ((2, 7), 1), ((6, 4), 3), ((7, 7), 0), ((5, 5), 2), ((3, 6), 0)]
)
def test_pooled_layers_on_images(kernel, padding, density, size):
    """Of a first layer behind a pooling, lanes pick what the winners saw."""
    torch.manual_seed(size)
    first = nn.Conv2d(2, 5, kernel, padding=padding)
    _, height, width = size_after(nn.Sequential(first, nn.MaxPool2d(2)), (2, 12, 11))
    model = nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(5 * height * width, CLASSES))
    agrees_with_everything(model, (2, 12, 11), density, size)


@pytest.mark.parametrize("size", [4, 8, 16, 19, 40])
@pytest.mark.parametrize(
    ("stride", "padding", "kernel"), [(1, 0, 5), (1, 1, 5), (2, 0, 5), (2, 2, 6), ((1, 3), 1, (3, 6))]
)
def test_kernels_nearly_as_large_as_what_they_see(stride, padding, kernel, size):
    """Each of their columns meets but a part of a row, so that visits are trimmed."""
    torch.manual_seed(size)
    second = nn.Conv2d(6, 7, kernel, stride=stride, padding=padding)
    hidden = size_after(nn.Sequential(nn.Conv2d(2, 6, 3), second), (2, 11, 10))
    model = nn.Sequential(
        *(nn.Conv2d(2, 6, 3), nn.ReLU(), second, nn.ReLU(), nn.Flatten()),
        nn.Linear(hidden[0] * hidden[1] * hidden[2], CLASSES),
    )
    agrees_with_everything(model, (2, 11, 10), 0.3, size)


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("side", [9, 12])
@pytest.mark.parametrize("slice_size", [4, 8, 16])
@pytest.mark.parametrize("density", [0.5, 0.1])
def test_pooling_where_a_vector_is_a_position(density, slice_size, side, rectified):
    torch.manual_seed(side)
    stages = [nn.Conv2d(1, 5, 3, padding=1), nn.MaxPool2d(2), nn.Conv2d(5, 6, 2, padding=1), nn.MaxPool2d(2)]
    if rectified:
        stages[1:1], stages[4:4] = [nn.ReLU()], [nn.ReLU()]
    hidden = size_after(nn.Sequential(*stages), (1, side, side))
    model = nn.Sequential(*stages, nn.Flatten(), nn.Linear(hidden[0] * hidden[1] * hidden[2], CLASSES))
    agrees_with_everything(model, (1, side, side), density, 2 * slice_size + 1, slice_size)


class Slow:
    """An optimiser of one's own: the same arithmetic, but nothing compiled knows its type."""

    def __init__(self, inner) -> None:
        self.inner, self.slots = inner, inner.slots

    def update_(self, weights, gradient, slots, learning_rate):
        self.inner.update_(weights, gradient, slots, learning_rate)


@pytest.mark.parametrize("density", [None, 0.2])
@pytest.mark.parametrize(
    "optimiser",
    [Sgd(), Sgd(weight_decay=0.01), Momentum(momentum=0.8, weight_decay=0.01), Nesterov(momentum=0.9)],
)
def test_updates_are_the_optimisers(optimiser, density):
    network, data = small_network(), dataset((1, 11, 11))
    weights = flat(network)
    mask = None if density is None else torch.rand(len(weights), generator=torch.Generator().manual_seed(5)) < density
    engine = NativeEngine(network, data)
    ends = []
    for form in (optimiser, Slow(optimiser)):
        replica = engine.replica(beginning(weights, optimiser.slots), mask=mask)
        schedule = make_rule("sgd", "linear", {"learning_rate": 1, "decay_steps": 4, "end_learning_rate_factor": 0.1})
        losses = replica.advance(torch.arange(40).view(5, 8).unbind(), Rule(form, schedule.schedule, 0.1), 2)
        ends.append((losses, replica.snapshot()))
    assert torch.allclose(ends[0][0], ends[1][0], atol=1e-5)
    assert torch.allclose(ends[0][1].weights, ends[1][1].weights, atol=1e-6)
    for ours, theirs in zip(ends[0][1].slots, ends[1][1].slots, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("density", [None, 0.3])
def test_what_is_not_finite_is_seen_wherever_it_begins(value, density):
    network, data = small_network(), dataset((1, 11, 11))
    weights = flat(network)
    mask = torch.ones(len(weights), dtype=torch.bool)
    if density is not None:
        mask = torch.rand(len(weights), generator=torch.Generator().manual_seed(5)) < density
    engine = NativeEngine(network, data)
    rule = Rule(Sgd(), lambda step: 1.0, 0.1)
    for position in mask.nonzero().flatten()[::97]:
        broken = weights.clone()
        broken[position] = value
        replica = engine.replica(beginning(broken, 0), mask=mask)
        replica.advance([torch.arange(16)], rule, 0)
        assert not replica.finite()
    healthy = engine.replica(beginning(weights, 0), mask=mask)
    assert healthy.advance([torch.arange(16)], rule, 0).isfinite().all()
    assert healthy.finite()


def test_a_margin_that_is_no_number_is_not_right():
    network, data = small_network(), dataset((1, 11, 11))
    weights = flat(network)
    weights[-1] = torch.nan  # the bias of the last class
    margins = NativeEngine(network, data).replica(beginning(weights)).margins(torch.arange(40))
    assert margins.isnan().all()


@pytest.mark.parametrize("index", [-1, 40])
def test_images_that_are_not_there(index):
    replica = NativeEngine(small_network(), dataset((1, 11, 11))).replica(beginning(flat(small_network())))
    for ask in (replica.gradient, replica.margins):
        with pytest.raises(IndexError, match="not one of its 40"):
            ask(torch.tensor([0, index]))


def test_denormals_are_flushed_within_and_left_alone_outside():
    network, data = small_network(), dataset((1, 11, 11))
    weights = torch.full_like(flat(network), 1e-39)
    replica = NativeEngine(network, data).replica(beginning(weights, 0))
    replica.advance([torch.arange(8)], Rule(Sgd(), lambda step: 1.0, 0.0), 0)
    assert not replica.snapshot().weights.any()
    assert torch.tensor(1e-39) * 0.5 != 0


def test_many_replicas_are_small():
    """A hundred of them take what their vectors take, and little more."""
    network, data = small_network(), dataset((1, 11, 11))
    engine = NativeEngine(network, data)
    before = resident()
    kept = [engine.replica(beginning(flat(network))) for _ in range(200)]
    assert len(kept) == 200
    assert resident() - before < 200 * 8 * len(flat(network)) + 16_000_000


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
