"""The models that are measured, by their names in profiles; `engine.py` builds them, where PyTorch is."""

MODELS = ("resnet50", "vgg19", "mobilenetv2", "encoder-base-128")
