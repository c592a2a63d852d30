"""Where draws are made: threads, processes on this machine, or a Ray cluster."""

from capscope.assessment.workers.contract import WorkerSettings
from capscope.assessment.workers.started import BACKENDS, Workers, start_workers

__all__ = ["BACKENDS", "WorkerSettings", "Workers", "start_workers"]
