"""Parsity: steps-to-result under data parallelism and sparsity, measured exactly and cheaply."""

__version__ = "0.1.0"
