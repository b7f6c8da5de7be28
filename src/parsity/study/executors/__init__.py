"""Executors: where tasks are run. One small contract; the same results, and the same digest, from each."""

from parsity.study.executors.contract import Executor, Place
from parsity.study.executors.local import LocalExecutor
from parsity.study.executors.ray import RayExecutor
from parsity.study.executors.serial import SerialExecutor

__all__ = ["Executor", "LocalExecutor", "Place", "RayExecutor", "SerialExecutor"]
