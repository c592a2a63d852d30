"""The assessment itself: discover, ask, learn, and stop."""

from capscope.assessment.assess import Assessment, run_assessment
from capscope.assessment.events import Event
from capscope.assessment.run import Run, RunSpec
from capscope.assessment.usage import Budget, Usage

__all__ = ["Assessment", "Budget", "Event", "Run", "RunSpec", "Usage", "run_assessment"]
