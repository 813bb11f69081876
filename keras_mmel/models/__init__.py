"""The networks of the paper's image experiments."""

from keras_mmel.models.cifar_resnet import cifar_resnet
from keras_mmel.models.imagenet_resnet import resnet18
from keras_mmel.models.imagenet_resnet import resnet34
from keras_mmel.models.imagenet_resnet import resnet50

__all__ = ["cifar_resnet", "resnet18", "resnet34", "resnet50"]
