"""The networks of `speed` in PyTorch, and its plain loop, for comparison."""

import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut without weights (option A)."""

    def __init__(self, inputs, filters):
        super().__init__()
        self.stride = 1 if inputs == filters else 2
        self.padding = filters - inputs
        options = {"padding": 1, "bias": False}
        self.first = nn.Conv2d(inputs, filters, 3, self.stride, **options)
        self.second = nn.Conv2d(filters, filters, 3, **options)
        self.norms = nn.ModuleList(nn.BatchNorm2d(filters) for _ in range(2))

    def forward(self, x):
        hidden = functional.relu(self.norms[0](self.first(x)))
        hidden = self.norms[1](self.second(hidden))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        before = self.padding // 2
        padding = (0, 0, 0, 0, before, self.padding - before)
        return functional.relu(hidden + functional.pad(shortcut, padding))


class ResNet(nn.Module):
    """He et al. (2016), section 4.2; as `keras_mmel.models.cifar_resnet`."""

    def __init__(self, depth, classes=10):
        super().__init__()
        widths = [16] + [n for n in (16, 32, 64) for _ in range(depth // 6)]
        self.first = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        pairs = zip(widths, widths[1:], strict=False)
        self.blocks = nn.Sequential(*(Block(*pair) for pair in pairs))
        self.last = nn.Linear(64, classes)

    def forward(self, images):
        x = images.movedim(3, 1).contiguous(memory_format=torch.channels_last)
        x = functional.relu(self.norm(self.first(x.float() / 128 - 1)))
        return self.last(self.blocks(x).mean((2, 3)))


class Bert(nn.Module):
    """A classifier of random weights, of transformers."""

    def __init__(self, sizes, classes=2):
        super().__init__()
        import transformers

        config = transformers.BertConfig(
            vocab_size=sizes["vocabulary_size"],
            hidden_size=sizes["hidden_dim"],
            num_hidden_layers=sizes["num_layers"],
            num_attention_heads=sizes["num_heads"],
            intermediate_size=sizes["intermediate_dim"],
            num_labels=classes,
        )
        self.bert = transformers.BertForSequenceClassification(config)

    def forward(self, x):
        return self.bert(
            input_ids=x["token_ids"],
            token_type_ids=x["segment_ids"],
            attention_mask=x["padding_mask"],
        ).logits


def _to_device(x):
    if isinstance(x, dict):
        return {name: _to_device(part) for name, part in x.items()}
    return torch.from_numpy(x).to(DEVICE)


def measure(network, sizes, batch, precision, steps, rounds) -> dict:
    """What a plain loop takes; a step copies its batch to the device.

    Args:
        network: "resnet" or "bert".
        sizes: Of the network.
        batch: Flat x and y of NumPy.
        precision: "float32" (TF32 where the card has it, as JAX does by
            default) or "mixed_bfloat16".
        steps: Of a round.
        rounds: How many are timed.
    """
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    if network == "resnet":
        model = ResNet(sizes["depth"]).to(memory_format=torch.channels_last)
        make = torch.optim.SGD
        options = {"lr": 1e-3, "momentum": 0.9}
    else:
        model, make, options = Bert(sizes), torch.optim.AdamW, {"lr": 2e-5}
    model.to(DEVICE).train()
    optimizer = make(model.parameters(), **options)
    cast = torch.autocast(
        DEVICE, torch.bfloat16, enabled=precision == "mixed_bfloat16"
    )

    def step():
        x, y = _to_device(batch[0]), _to_device(batch[1])
        with cast:
            logits = model(x)
        loss = functional.cross_entropy(logits.float(), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    def timed(count):
        start = time.perf_counter()
        for _ in range(count):
            loss = step()
        float(loss)  # waits for the device
        return time.perf_counter() - start

    first = timed(3)
    on_gpu = DEVICE == "cuda"
    return {
        "first_seconds": first,
        "seconds": [timed(steps) / steps for _ in range(rounds)],
        "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else None,
        "parameters": sum(int(np.prod(p.shape)) for p in model.parameters()),
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "version": torch.__version__,
    }
