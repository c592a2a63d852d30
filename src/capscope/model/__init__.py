"""What may be believed: rules, the pessimistic and the optimistic model, and their order."""

from capscope.model.capability_model import CapabilityModel, RuleModel
from capscope.model.lattice import Learned, Models
from capscope.model.rule import Outcome, Rule

__all__ = ["CapabilityModel", "Learned", "Models", "Outcome", "Rule", "RuleModel"]
