"""The assessment itself: discover, ask, learn, and stop."""

from capscope.assessment.events import Event
from capscope.assessment.loop import Assessment, run_assessment
from capscope.assessment.spec import RunSpec
from capscope.record.run_directory import RunDirectory
from capscope.record.usage import Budget, Usage

__all__ = ["Assessment", "Budget", "Event", "RunDirectory", "RunSpec", "Usage", "run_assessment"]
