"""A training run as one web page: charts of what it logged, and sample games."""

from visionzero.report.page import write_report
from visionzero.report.run import Run, read_run

__all__ = ["Run", "read_run", "write_report"]
