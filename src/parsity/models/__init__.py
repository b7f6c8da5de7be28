"""The networks that are trained, and how their weights begin.

A network enters Parsity as a callable without arguments that builds an initialised ``torch.nn.Module``; it takes all
its randomness from torch's global generator, which `make_network` seeds and then puts back as it was.
"""

from parsity.models.digits_cnn import DigitsCNN
from parsity.models.initialisation import variance_scaling_
from parsity.models.making import NETWORKS, NetworkFactory, make_network
from parsity.models.resnet_8 import ResNet8
from parsity.models.simple_cnn import SimpleCNN

__all__ = [
    "NETWORKS",
    "DigitsCNN",
    "NetworkFactory",
    "ResNet8",
    "SimpleCNN",
    "make_network",
    "variance_scaling_",
]
