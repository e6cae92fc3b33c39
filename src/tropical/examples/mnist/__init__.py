"""Training on MNIST: ``python -m tropical.examples.mnist``."""
