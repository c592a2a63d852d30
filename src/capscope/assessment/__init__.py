"""The assessment itself: discover, ask, learn, and stop."""

from capscope.assessment.loop import Event, Listener, ignore, run_assessment
from capscope.assessment.run_state import RunSpec

__all__ = ["Event", "Listener", "RunSpec", "ignore", "run_assessment"]
