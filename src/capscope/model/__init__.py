"""What may be believed: rules, the pessimistic and the optimistic model, and their order."""

from capscope.model.capability_model import CapabilityModel, RuleModel
from capscope.model.rules import Outcome, Rule
from capscope.model.state_graph import Learned, StateGraph

__all__ = ["CapabilityModel", "Learned", "Outcome", "Rule", "RuleModel", "StateGraph"]
